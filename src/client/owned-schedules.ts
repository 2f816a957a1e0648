import { type Client, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import { type ScheduleTarget, schedulePrefix, targetOfScheduleId } from '../model/schedule/schedule-target.ts';
import { inBatches } from './in-batches.ts';

/** A schedule that docferry made for this task queue. */
export interface OwnedSchedule {
  id: string;
  target: ScheduleTarget;
  description: ScheduleDescription;
}

/** Calls to the server at a time. */
export const callsAtOnce = 16;

/**
 * The schedules that docferry made for this task queue, in the order of their ids; other schedules of the namespace are
 * left alone. Temporal lists a new schedule only after a moment: those with an id in `alsoAsk` are read even if unlisted.
 */
export async function ownedSchedules(
  client: Client,
  taskQueue: string,
  alsoAsk: readonly string[] = [],
): Promise<OwnedSchedule[]> {
  const ids = new Set(alsoAsk);
  const prefix = schedulePrefix(taskQueue);
  for await (const { scheduleId } of client.schedule.list({ query: `ScheduleId STARTS_WITH "${prefix}"` })) {
    ids.add(scheduleId);
  }
  const known = [...ids].sort().flatMap((id) => {
    const target = targetOfScheduleId(taskQueue, id);
    return target ? [{ id, target }] : [];
  });
  const found = await inBatches(known, callsAtOnce, async ({ id, target }) => {
    const description = await describeOrNull(client, id);
    return description && { id, target, description };
  });
  return found.filter((schedule) => schedule !== null);
}

/** Null when there is no schedule of that id. */
async function describeOrNull(client: Client, id: string): Promise<ScheduleDescription | null> {
  try {
    return await client.schedule.getHandle(id).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}
