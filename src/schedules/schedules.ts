import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { ExplainedError } from '../rules/explained-error.ts';
import {
  type ConfiguredOrganization,
  type DesiredSchedule,
  desiredSchedules,
  isConfigured,
} from './rules/desired-schedules.ts';
import { type FoundOnServer, planSchedules, type SchedulePlan } from './rules/schedule-plan.ts';
import type { Handover } from '../temporal/rules/failover.ts';
import { workflowTypes } from '../rules/workflow-ids.ts';
import { inBatches } from '../temporal/in-batches.ts';
import { runningWork } from '../temporal/running-work.ts';
import { callsAtOnce, ownedSchedules } from './owned-schedules.ts';
import { existingSchedule, scheduleOptions } from './schedule-spec.ts';

/** The server refused a schedule; the message says which and why. */
export class ScheduleRefused extends ExplainedError {
  override readonly name = 'ScheduleRefused';
  readonly code = 'ScheduleRefused';
  readonly hint = 'correct it in the configuration';
}

/**
 * The changes that would make the server's schedules match the configuration; makes none of them. Schedules that the
 * server does not describe in time are left out and named.
 */
export async function readSchedulePlan(
  client: Client,
  taskQueue: string,
  organizations: readonly ConfiguredOrganization[],
  handover: Handover,
): Promise<SchedulePlan> {
  const desired = desiredSchedules(taskQueue, organizations, handover);
  const { schedules, unread } = await ownedSchedules(
    client,
    taskQueue,
    desired.map(({ id }) => id),
  );
  const found: FoundOnServer = {
    schedules: schedules.map(({ description, target }) => existingSchedule(description, target)),
    unread: unread.map(({ id }) => id),
    // A rollback asks the service nothing: it may end.
    running: (await runningWork(client, taskQueue)).filter(({ type }) => type !== workflowTypes.rollBack),
  };
  return planSchedules(desired, found, (target) => isConfigured(organizations, target));
}

/**
 * Gives the server exactly the schedules of the configuration, but for those it does not describe in time, and returns the
 * changes. Paused ones stay paused and keep their note; stored data is not touched. Throws `ScheduleRefused`.
 */
export async function applySchedules(
  client: Client,
  taskQueue: string,
  organizations: readonly ConfiguredOrganization[],
  handover: Handover,
): Promise<SchedulePlan> {
  const plan = await readSchedulePlan(client, taskQueue, organizations, handover);
  await inBatches(plan.delete, callsAtOnce, ({ id }) => deleteSchedule(client, id));
  // After the schedules, which could start the work again.
  await inBatches(plan.stop, callsAtOnce, (workflowId) => cancelWork(client, workflowId));
  await inBatches(plan.update, callsAtOnce, ({ desired }) => updateSchedule(client, desired));
  await inBatches(plan.create, callsAtOnce, (desired) => createSchedule(client, desired));
  return plan;
}

async function createSchedule(client: Client, desired: DesiredSchedule): Promise<void> {
  try {
    await refusedBy(desired, client.schedule.create({ scheduleId: desired.id, ...scheduleOptions(desired) }));
  } catch (error) {
    // Another process has applied the configuration meanwhile.
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await updateSchedule(client, desired);
  }
}

async function updateSchedule(client: Client, desired: DesiredSchedule): Promise<void> {
  const options = scheduleOptions(desired);
  // Without its state an update would resume a paused schedule and remove its note.
  const update = client.schedule.getHandle(desired.id).update(({ state }) => ({ ...options, state }));
  await refusedBy(desired, update);
}

/** The SDK throws a `TypeError` when the server refuses a specification. */
async function refusedBy(desired: DesiredSchedule, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ScheduleRefused(`the server refused the schedule ${desired.id}: ${error.message}`);
  }
}

async function deleteSchedule(client: Client, id: string): Promise<void> {
  try {
    await client.schedule.getHandle(id).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

async function cancelWork(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).cancel();
  } catch (error) {
    // It has ended meanwhile.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
