import type { Client } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';

/** Pauses a schedule; its running work goes on. Throws `ScheduleNotFoundError`, as all of these. */
export async function pauseSchedule(client: Client, id: string, note: string): Promise<void> {
  await client.schedule.getHandle(id).pause(note || 'paused with docferry');
}

/** An empty note would be no request at all to the server, so there is always one. */
export async function resumeSchedule(client: Client, id: string, note: string): Promise<void> {
  await client.schedule.getHandle(id).unpause(note || 'resumed with docferry');
}

/**
 * Starts a scheduled run now, also of a paused schedule; nothing happens while one runs. Returns whether one ran when it
 * was asked.
 */
export async function triggerSchedule(client: Client, id: string): Promise<{ alreadyRunning: boolean }> {
  const handle = client.schedule.getHandle(id);
  const { info } = await handle.describe();
  // Without a policy the server would start one beside a running one.
  await handle.trigger('SKIP');
  return { alreadyRunning: info.runningActions.length > 0 };
}

/** The times at which a schedule acts between two moments, both included, in milliseconds since the epoch. */
export async function scheduledTimes(client: Client, id: string, from: number, to: number): Promise<number[]> {
  const { startTime } = await client.workflowService.listScheduleMatchingTimes({
    namespace: client.options.namespace,
    scheduleId: id,
    // The server leaves the first moment out here, but not in a backfill; times are whole seconds.
    startTime: msToTs(from - 1_000),
    endTime: msToTs(to),
  });
  return (startTime ?? []).map((time) => tsToMs(time)).filter((time) => time >= from);
}

/**
 * Takes the actions of the past between two moments, both included, one after the other: each run reads what is there
 * now, so two at once would only be in each other's way.
 */
export async function backfillSchedule(client: Client, id: string, from: number, to: number): Promise<void> {
  await client.schedule.getHandle(id).backfill({ start: new Date(from), end: new Date(to), overlap: 'BUFFER_ALL' });
}
