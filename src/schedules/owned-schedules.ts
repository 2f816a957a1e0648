import { type Client, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import { naturalOrder } from '../rules/natural-order.ts';
import { type ScheduleTarget, schedulePrefix, targetOfScheduleId } from '../rules/schedule-target.ts';
import { inBatches } from '../temporal/in-batches.ts';
import { isOutage } from '../temporal/outage.ts';

/** A schedule whose id says that docferry made it for this task queue. */
export interface NamedSchedule {
  id: string;
  target: ScheduleTarget;
}

/** As the server describes it. */
export interface OwnedSchedule extends NamedSchedule {
  description: ScheduleDescription;
}

export interface DescribedSchedules {
  schedules: OwnedSchedule[];
  /** Temporal did not say in time what they are, or whether they exist. */
  unread: NamedSchedule[];
}

/** Calls to the server at a time. */
export const callsAtOnce = 16;

/** For the descriptions of all schedules together. */
const describedWithinMs = 30_000;

/**
 * The schedules that docferry made for this task queue, in the natural order of their ids; other schedules of the namespace are
 * left alone. Temporal lists a new schedule only after a moment: those with an id in `alsoAsk` are returned even if
 * unlisted, and need not exist.
 */
export async function namedSchedules(
  client: Client,
  taskQueue: string,
  alsoAsk: readonly string[] = [],
): Promise<NamedSchedule[]> {
  const ids = new Set(alsoAsk);
  const prefix = schedulePrefix(taskQueue);
  for await (const { scheduleId } of client.schedule.list({ query: `ScheduleId STARTS_WITH "${prefix}"` })) {
    ids.add(scheduleId);
  }
  return [...ids].sort(naturalOrder).flatMap((id) => {
    const target = targetOfScheduleId(taskQueue, id);
    return target ? [{ id, target }] : [];
  });
}

/** The descriptions of these schedules, without those that do not exist. */
export async function describeSchedules(client: Client, named: readonly NamedSchedule[]): Promise<DescribedSchedules> {
  const described: DescribedSchedules = { schedules: [], unread: [] };
  const read = await client.withDeadline(Date.now() + describedWithinMs, () =>
    inBatches(named, callsAtOnce, ({ id }) => describe(client, id)),
  );
  for (const [index, schedule] of named.entries()) {
    const description = read[index];
    if (description === 'unread') described.unread.push(schedule);
    else if (description) described.schedules.push({ ...schedule, description });
  }
  return described;
}

/** The schedules that docferry made for this task queue, those in `alsoAsk` even if unlisted, as the server has them. */
export async function ownedSchedules(
  client: Client,
  taskQueue: string,
  alsoAsk: readonly string[] = [],
): Promise<DescribedSchedules> {
  return describeSchedules(client, await namedSchedules(client, taskQueue, alsoAsk));
}

/** Null when there is no schedule of that id. */
async function describe(client: Client, id: string): Promise<ScheduleDescription | 'unread' | null> {
  try {
    return await client.schedule.getHandle(id).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    if (isOutage(error)) return 'unread';
    throw error;
  }
}
