import type { Client } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';

/** Pauses a schedule; its running work continues. Throws `ScheduleNotFoundError`, like all functions here. */
export async function pauseSchedule(client: Client, id: string, note: string): Promise<void> {
  await client.schedule.getHandle(id).pause(note || 'paused with docferry');
}

/** Resumes a schedule. The server ignores a request without a note, so there is always one. */
export async function resumeSchedule(client: Client, id: string, note: string): Promise<void> {
  await client.schedule.getHandle(id).unpause(note || 'resumed with docferry');
}

/** Starts a scheduled run now, even of a paused schedule, unless one is running. Returns whether one was. */
export async function triggerSchedule(client: Client, id: string): Promise<{ alreadyRunning: boolean }> {
  const handle = client.schedule.getHandle(id);
  const { info } = await handle.describe();
  // Without a policy the server would start a second run beside a running one.
  await handle.trigger('SKIP');
  return { alreadyRunning: info.runningActions.length > 0 };
}

/** When a schedule acts between two moments, both included, in milliseconds since the epoch. */
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

/** Makes up for the actions between two past moments, both included, one after the other: parallel runs only compete. */
export async function backfillSchedule(client: Client, id: string, from: number, to: number): Promise<void> {
  await client.schedule.getHandle(id).backfill({ start: new Date(from), end: new Date(to), overlap: 'BUFFER_ALL' });
}
