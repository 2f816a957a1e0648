import {
  type CalendarSpec,
  type CalendarSpecDescription,
  type Client,
  DAYS_OF_WEEK,
  MONTHS,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  type ScheduleOptions,
  type ScheduleOverlapPolicy,
  type ScheduleSpec,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { ExplainedError } from '../rules/errors.ts';
import { naturalOrder } from '../rules/text.ts';
import {
  type ScheduleTarget,
  schedulePrefix,
  targetOfScheduleId,
  watchScheduleId,
  workflowIdOf,
  workflowTypes,
} from '../rules/workflow-ids.ts';
import { isOutage } from '../temporal/connection.ts';
import { keysIn, writingKeyOf } from '../temporal/encryption.ts';
import type { Failover } from '../temporal/rules/failover.ts';
import { callsAtOnce, inBatches, runningWork } from '../temporal/runs.ts';
import {
  type ConfiguredOrganization,
  type DesiredSchedule,
  desiredSchedules,
  type ExistingSchedule,
  type FoundOnServer,
  isConfigured,
  planSchedules,
  refreshInterval,
  type SchedulePlan,
  updateOf,
  watchSchedule,
} from './rules/desired-schedules.ts';
import type { Calendar, ScheduleSettings } from './rules/schedule-settings.ts';

/** A schedule whose id says that docferry made it for this task queue. */
export interface NamedSchedule {
  id: string;
  target: ScheduleTarget;
}

/** As the server describes it. */
export interface OwnedSchedule extends NamedSchedule {
  description: ScheduleDescription;
}

interface DescribedSchedules {
  schedules: OwnedSchedule[];
  /** Temporal did not say in time what they are, or whether they exist. */
  unread: NamedSchedule[];
}

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

/** Memo of the schedule's action: unlike the schedule's own memo, it can be updated and every run shows it. */
const digestMemo = 'docferryDigest';

/** A desired schedule as Temporal takes it, for `create` and, without the id, for `update`. */
function scheduleOptions(desired: Pick<DesiredSchedule, 'settings' | 'digest'>): Omit<ScheduleOptions, 'scheduleId'> {
  const { settings, digest } = desired;
  const { action } = settings;
  const typedSearchAttributes = Object.entries(action.attributes).map(([name, value]) => ({
    key: defineSearchAttributeKey(name, 'KEYWORD'),
    value,
  }));
  return {
    typedSearchAttributes,
    // The whole schedule: an update removes absent settings, so no former time fires beside the new ones.
    spec: specOf(settings),
    policies: {
      overlap: settings.overlap as ScheduleOverlapPolicy,
      catchupWindow: settings.catchupMs,
      pauseOnFailure: settings.pauseOnFailure,
    },
    action: {
      type: 'startWorkflow',
      workflowType: action.workflowType,
      taskQueue: action.taskQueue,
      workflowId: action.workflowId,
      args: [action.input],
      memo: { [digestMemo]: digest },
      staticSummary: action.summary,
      ...(action.taskTimeoutMs === null ? {} : { workflowTaskTimeout: action.taskTimeoutMs }),
      typedSearchAttributes,
    },
  };
}

/** A schedule on the server in terms of `schedules/rules`. One written with another key counts as marked otherwise. */
export function existingSchedule(
  client: Client,
  { description, target }: Pick<OwnedSchedule, 'description' | 'target'>,
): ExistingSchedule {
  const { spec, action, policies, info } = description;
  const { calendars = [], intervals = [] } = spec;
  const settings: ScheduleSettings = {
    intervals: intervals.map(({ every, offset }) => ({ everyMs: every, offsetMs: offset ?? 0 })),
    calendars: calendars.map(calendarOf),
    timezone: spec.timezone ?? '',
    jitterMs: spec.jitter ?? 0,
    overlap: policies.overlap ?? 'unspecified',
    catchupMs: policies.catchupWindow,
    pauseOnFailure: policies.pauseOnFailure,
    action: {
      workflowType: action.workflowType,
      taskQueue: action.taskQueue,
      workflowId: action.workflowId ?? '',
      input: action.args?.length === 1 ? action.args[0] : action.args,
      summary: action.staticSummary ?? '',
      taskTimeoutMs: Number(action.workflowTaskTimeout ?? 0) || null,
      attributes: attributesIn(description),
    },
    extras: extrasOf(description),
  };
  const { memo } = description.raw.schedule?.action?.startWorkflow ?? {};
  const [writtenWith = null] = keysIn(memo);
  const digest =
    writtenWith === writingKeyOf(client) ? action.memo?.[digestMemo] : `written with the key ${writtenWith}`;
  return {
    id: description.scheduleId,
    target,
    settings,
    digest: typeof digest === 'string' ? digest : null,
    running: info.runningActions.map(({ workflow }) => workflow.workflowId),
  };
}

function specOf({ intervals, calendars, timezone, jitterMs }: ScheduleSettings): ScheduleSpec {
  return {
    intervals: intervals.map(({ everyMs, offsetMs }) => ({ every: everyMs, offset: offsetMs })),
    calendars: calendars.map(calendarSpec),
    ...(timezone === '' ? {} : { timezone }),
    ...(jitterMs === 0 ? {} : { jitter: jitterMs }),
  };
}

function calendarSpec({ minute, hour, dayOfMonth, month, dayOfWeek }: Calendar): CalendarSpec {
  return {
    second: 0,
    minute,
    hour,
    dayOfMonth,
    month: rangesAs(month, (number) => named(MONTHS, number - 1)),
    dayOfWeek: rangesAs(dayOfWeek, (number) => named(DAYS_OF_WEEK, number)),
  };
}

function calendarOf({ minute, hour, dayOfMonth, month, dayOfWeek }: CalendarSpecDescription): Calendar {
  return {
    minute,
    hour,
    dayOfMonth,
    month: rangesAs(month, (name) => MONTHS.indexOf(name) + 1),
    dayOfWeek: rangesAs(dayOfWeek, (name) => DAYS_OF_WEEK.indexOf(name)),
  };
}

function rangesAs<From, To>(
  ranges: readonly { start: From; end: From; step: number }[],
  as: (value: From) => To,
): { start: To; end: To; step: number }[] {
  return ranges.map(({ start, end, step }) => ({ start: as(start), end: as(end), step }));
}

function named<Name>(names: readonly Name[], index: number): Name {
  const name = names[index];
  if (name === undefined) throw new RangeError(`no name for ${index}`);
  return name;
}

function attributesIn({ action }: ScheduleDescription): Record<string, string> {
  const { typedSearchAttributes } = action;
  const pairs = Array.isArray(typedSearchAttributes) ? typedSearchAttributes : (typedSearchAttributes?.getAll() ?? []);
  return Object.fromEntries(pairs.map(({ key, value }) => [key.name, String(value)]));
}

/** Settings that docferry never sets but a person or another program may have. */
function extrasOf({ spec, action, state }: ScheduleDescription): Record<string, unknown> {
  const { skip = [], startAt, endAt, calendars = [] } = spec;
  const { retry, workflowExecutionTimeout, workflowRunTimeout, staticDetails } = action;
  const exact = calendars.filter(({ second, year }) => year.length > 0 || second.some(({ end }) => end > 0));
  const found = {
    skip: skip.length === 0 ? undefined : skip,
    seconds: exact.length === 0 ? undefined : exact.map(({ second, year }) => ({ second, year })),
    startAt,
    endAt,
    retry,
    workflowExecutionTimeout,
    workflowRunTimeout,
    staticDetails,
    // Temporal starts the schedule so many times more, and never again.
    remainingActions: state.remainingActions,
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** The server refused a schedule; the message says which and why. */
export class ScheduleRefused extends ExplainedError {
  override readonly name = 'ScheduleRefused';
  readonly code = 'ScheduleRefused';
  override readonly hint = 'correct it in the configuration';
}

/** The changes that would make schedules match the configuration; those not described in time are named. */
export async function readSchedulePlan(
  client: Client,
  taskQueue: string,
  organizations: readonly ConfiguredOrganization[],
  failover: Failover,
): Promise<SchedulePlan> {
  const desired = desiredSchedules(taskQueue, organizations, failover);
  const ids = desired.map(({ id }) => id);
  const { schedules, unread } = await describeSchedules(client, await namedSchedules(client, taskQueue, ids));
  const found: FoundOnServer = {
    schedules: schedules.map((schedule) => existingSchedule(client, schedule)),
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
  failover: Failover,
): Promise<SchedulePlan> {
  const plan = await readSchedulePlan(client, taskQueue, organizations, failover);
  await inBatches(plan.delete, callsAtOnce, ({ id }) => deleteSchedule(client, id));
  // After the schedules, which could start the work again.
  await inBatches(plan.stop, callsAtOnce, (workflowId) => cancelWork(client, workflowId));
  await inBatches(plan.update, callsAtOnce, ({ desired }) => updateSchedule(client, desired));
  await inBatches(plan.create, callsAtOnce, (desired) => createSchedule(client, desired));
  for await (const { scheduleId } of client.schedule.list({
    query: `ScheduleId STARTS_WITH "${watchScheduleId(taskQueue)}"`,
  })) {
    if (!organizations.some(({ id }) => watchScheduleId(taskQueue, id) === scheduleId))
      await deleteSchedule(client, scheduleId);
  }
  return plan;
}

/** Has the organization watched, and looked at now: its configuration may have changed. */
export async function applyWatch(
  client: Client,
  taskQueue: string,
  watched: { id: string; everyMs: number },
  failover: Failover,
): Promise<void> {
  const desired = watchSchedule(taskQueue, watched, failover);
  await createSchedule(client, desired);
  await triggerSchedule(client, desired.id);
}

async function createSchedule(client: Client, desired: Omit<DesiredSchedule, 'target'>): Promise<void> {
  try {
    await refusedBy(desired, client.schedule.create({ scheduleId: desired.id, ...scheduleOptions(desired) }));
  } catch (error) {
    // Another process has applied the configuration meanwhile.
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await updateSchedule(client, desired);
  }
}

async function updateSchedule(client: Client, desired: Omit<DesiredSchedule, 'target'>): Promise<void> {
  const options = scheduleOptions(desired);
  const update = client.schedule.getHandle(desired.id).update(({ state }) => ({ ...options, state: pauseOf(state) }));
  await refusedBy(desired, update);
}

/** Without it an update would resume a paused schedule and remove its note. A limit of runs does not stay. */
const pauseOf = ({ paused, note }: ScheduleDescription['state']) => ({
  paused,
  ...(note === undefined ? {} : { note }),
});

/**
 * Has an organization's next refresh run when a request is due, an hour from now at most, or as configured where that is
 * sooner. Nothing happens to a schedule that is not as configured: `schedules apply` is under way.
 */
export async function putOffRefresh(
  client: Client,
  taskQueue: string,
  organization: ConfiguredOrganization,
  { failover, nextDueAt }: { failover: Failover; nextDueAt: number },
): Promise<void> {
  const desired = desiredSchedules(taskQueue, [{ ...organization, sites: [] }], failover)[0];
  const configured = desired?.settings.intervals[0];
  if (desired === undefined || configured === undefined) return;
  const wanted = refreshInterval(configured.everyMs, Date.now(), nextDueAt);
  const interval = wanted.everyMs > configured.everyMs ? wanted : configured;
  const handle = client.schedule.getHandle(desired.id);
  try {
    const existing = existingSchedule(client, { description: await handle.describe(), target: desired.target });
    const isThere = existing.settings.intervals.some(({ everyMs }) => everyMs === interval.everyMs);
    if (isThere || updateOf(desired, existing) !== null) return;
    const settings = { ...desired.settings, intervals: [interval] };
    await handle.update(({ state }) => ({ ...scheduleOptions({ ...desired, settings }), state: pauseOf(state) }));
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

/** The SDK throws a `TypeError` when the server refuses a specification. */
async function refusedBy(desired: Pick<DesiredSchedule, 'id'>, call: Promise<unknown>): Promise<void> {
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
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

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

/** When a schedule of this task queue starts its work next, as Temporal lists it. */
export interface NextStart {
  /** UTC ISO 8601; null while it is paused, or when there is none. */
  nextAt: string | null;
  /** The two after it. */
  thenAt: string[];
  paused: boolean;
}

/** The next start of all work that has a schedule, by the id of its workflow, without describing any schedule. */
export async function nextStarts(client: Client, taskQueue: string): Promise<Map<string, NextStart>> {
  const starts = new Map<string, NextStart>();
  const query = `ScheduleId STARTS_WITH "${schedulePrefix(taskQueue)}"`;
  for await (const { scheduleId, state, info } of client.schedule.list({ query })) {
    const target = targetOfScheduleId(taskQueue, scheduleId);
    if (!target) continue;
    const [next, ...then] = state.paused ? [] : info.nextActionTimes.slice(0, 3).map((at) => at.toISOString());
    starts.set(workflowIdOf(target), { nextAt: next ?? null, thenAt: then, paused: state.paused });
  }
  return starts;
}
