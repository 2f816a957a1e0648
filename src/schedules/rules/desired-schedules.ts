import { z } from 'zod/mini';
import type { ExportOutcome } from '../../exports/rules/site-export.ts';
import { own, reader, text } from '../../rules/messages.ts';
import {
  type ScheduleTarget,
  scheduledRunId,
  scheduleId,
  searchAttributes,
  targetSummary,
  watchScheduleId,
  watchWorkflowId,
  workflowIdOf,
  workflowTypes,
} from '../../rules/workflow-ids.ts';
import { type Failover, failoverTimes, type WithFailover } from '../../temporal/rules/failover.ts';
import {
  type Calendar,
  calendarsOfCron,
  factChanges,
  type ScheduleSettings,
  settingsDigest,
  settingsFacts,
  stableHash,
} from './schedule-settings.ts';

/** Times of a configured schedule: exactly one of `everyMs` and `cron`. */
export type ConfiguredTimes = { jitterMs: number } & (
  | { everyMs: number; cron?: never }
  | { cron: string; timezone: string; everyMs?: never }
);

/** What the configuration says about an organization's schedules (contracts.md). */
export interface ConfiguredOrganization {
  id: string;
  budget?: { requests: number; reserve: number; windowMs: number };
  /** How its feedback is kept fresh; absent: only on demand. */
  refresh?: { everyMs: number; share: number };
  projects: readonly { id: string; weight?: number; atMostMs?: number }[];
  sites: readonly { domain: string; schedule?: ConfiguredTimes }[];
}

export interface DesiredSchedule {
  id: string;
  target: ScheduleTarget;
  settings: ScheduleSettings;
  /** Stored in the schedule to distinguish changes by hand from changes of the configuration. */
  digest: string;
}

const dayMs = 86_400_000;
/** The server accepts no shorter catch-up window. */
const shortestCatchupMs = 10_000;

/** All schedules of the configuration; work without one never starts on its own. Times and ids do not depend on the failover. */
export function desiredSchedules(
  taskQueue: string,
  organizations: readonly ConfiguredOrganization[],
  failover: Failover = 'fast',
): DesiredSchedule[] {
  return organizations.flatMap((organization) => [
    ...organization.sites.flatMap(({ domain, schedule }) => {
      const target = { kind: 'export' as const, org: organization.id, domain };
      return schedule ? [desiredSchedule(taskQueue, target, schedule, failover)] : [];
    }),
    ...refreshSchedules(taskQueue, organization, failover),
  ]);
}

/** One for all projects. Its digest covers what decides when a request is due: when that changes, the schedule goes back to its times. */
function refreshSchedules(
  taskQueue: string,
  { id: org, refresh, budget, projects }: ConfiguredOrganization,
  failover: Failover,
): DesiredSchedule[] {
  if (refresh === undefined || projects.length === 0) return [];
  const times = { everyMs: refresh.everyMs, jitterMs: 0 };
  const desired = desiredSchedule(taskQueue, { kind: 'refresh', org }, times, failover);
  const { requests, reserve, windowMs } = budget ?? {};
  const paced = [
    refresh.share,
    requests,
    reserve,
    windowMs,
    projects.map(({ id, weight, atMostMs }) => [id, weight, atMostMs]),
  ];
  return [{ ...desired, digest: stableHash(`${desired.digest} ${JSON.stringify(paced)}`).toString(16) }];
}

function desiredSchedule(
  taskQueue: string,
  target: ScheduleTarget,
  times: ConfiguredTimes,
  failover: Failover,
): DesiredSchedule {
  const id = scheduleId(taskQueue, target);
  const started =
    target.kind === 'refresh'
      ? {
          workflowType: workflowTypes.refreshFeedback,
          workflowId: workflowIdOf(target),
          input: { org: target.org, failover },
        }
      : {
          workflowType: workflowTypes.runScheduled,
          workflowId: scheduledRunId(target),
          input: { ...target, failover } as ScheduledInput,
        };
  const action = {
    ...started,
    taskQueue,
    summary: `scheduled ${targetSummary(target)}`,
    attributes: attributesOf(target),
  };
  return { target, ...scheduleOf(id, times, action, failover) };
}

/** The schedule of an organization's watch: the worker's own, which is neither listed nor paused with the others. */
export function watchSchedule(
  taskQueue: string,
  { id: org, everyMs }: { id: string; everyMs: number },
  failover: Failover,
): Omit<DesiredSchedule, 'target'> {
  const action = {
    workflowType: workflowTypes.watchOrganization,
    workflowId: watchWorkflowId(org),
    input: { org, failover },
    taskQueue,
    summary: `watch of ${org}`,
    attributes: { [searchAttributes.org]: org },
  };
  return scheduleOf(watchScheduleId(taskQueue, org), { everyMs, jitterMs: 0 }, action, failover);
}

function scheduleOf(
  id: string,
  times: ConfiguredTimes,
  action: Omit<ScheduleSettings['action'], 'taskTimeoutMs'>,
  failover: Failover,
): Omit<DesiredSchedule, 'target'> {
  const settings: ScheduleSettings = {
    ...timesOf(id, times),
    jitterMs: times.jitterMs,
    // The scheduled run lasts as long as the work, so times during it are left out.
    overlap: 'SKIP',
    // After an outage one missed time is made up for: the first of several runs, the others overlap it.
    catchupMs: times.everyMs === undefined ? dayMs : Math.max(shortestCatchupMs, times.everyMs),
    pauseOnFailure: false,
    action: { ...action, taskTimeoutMs: failoverTimes(failover).workflowTaskTimeoutMs },
    extras: {},
  };
  return { id, settings, digest: settingsDigest(settings) };
}

/** Whether the configuration has the site, project or organization, scheduled or not. */
export function isConfigured(organizations: readonly ConfiguredOrganization[], target: ScheduleTarget): boolean {
  const organization = organizations.find(({ id }) => id === target.org);
  if (!organization) return false;
  if (target.kind === 'export') return organization.sites.some(({ domain }) => domain === target.domain);
  return target.kind === 'refresh' || organization.projects.some(({ id }) => id === target.project);
}

function timesOf(id: string, times: ConfiguredTimes): Pick<ScheduleSettings, 'intervals' | 'calendars' | 'timezone'> {
  if (times.everyMs === undefined) {
    return { intervals: [], calendars: calendarsFrom(times.cron), timezone: times.timezone };
  }
  const { everyMs } = times;
  return { intervals: [{ everyMs, offsetMs: offsetOf(id, everyMs) }], calendars: [], timezone: '' };
}

/** Spreads schedules of equal intervals over the interval, in whole seconds as the server requires. */
function offsetOf(id: string, everyMs: number): number {
  const seconds = Math.max(1, Math.floor(everyMs / 1000));
  return Number(stableHash(id) % BigInt(seconds)) * 1000;
}

function calendarsFrom(cron: string): Calendar[] {
  const calendars = calendarsOfCron(cron);
  if (!calendars) throw new RangeError(`not a cron expression: ${cron.slice(0, 40)}`);
  return calendars;
}

function attributesOf(target: ScheduleTarget): Record<string, string> {
  const { org, domain } = searchAttributes;
  return { [org]: target.org, ...(target.kind === 'export' && { [domain]: target.domain }) };
}

/** One of docferry's schedules as it is on the server. */
export interface ExistingSchedule {
  id: string;
  target: ScheduleTarget;
  settings: ScheduleSettings;
  /** Digest of the settings that docferry gave it last; null when it is gone. */
  digest: string | null;
  /** Scheduled runs that are running now. */
  running: string[];
}

interface ScheduleUpdate {
  desired: DesiredSchedule;
  /** Changed by hand since docferry applied it; otherwise the configuration has changed. */
  drift: boolean;
  /** `name: before → after`. */
  changes: string[];
}

export interface SchedulePlan {
  create: DesiredSchedule[];
  update: ScheduleUpdate[];
  delete: ExistingSchedule[];
  /** Workflows to cancel: work on sites and projects that the configuration no longer has. */
  stop: string[];
  unchanged: DesiredSchedule[];
  /** Ids of schedules that the server did not describe: left as they are. */
  unread: string[];
}

export interface FoundOnServer {
  schedules: readonly ExistingSchedule[];
  /** Ids of schedules that may exist, but were not described in time. */
  unread: readonly string[];
  /** Exports and syncs that run on the task queue. */
  running: readonly { workflowId: string; target: ScheduleTarget }[];
}

/** The changes to the desired schedules. Without its site or project, work is stopped; without a schedule it ends. */
export function planSchedules(
  desired: readonly DesiredSchedule[],
  found: FoundOnServer,
  isConfigured: (target: ScheduleTarget) => boolean,
): SchedulePlan {
  const existing = new Map(found.schedules.map((schedule) => [schedule.id, schedule]));
  const wanted = new Set(desired.map(({ id }) => id));
  const plan: SchedulePlan = { create: [], update: [], delete: [], stop: [], unchanged: [], unread: [...found.unread] };
  for (const schedule of desired.filter(({ id }) => !plan.unread.includes(id))) {
    const current = existing.get(schedule.id);
    const update = current ? updateOf(schedule, current) : null;
    if (!current) plan.create.push(schedule);
    else if (update) plan.update.push(update);
    else plan.unchanged.push(schedule);
  }
  plan.delete = found.schedules.filter(({ id }) => !wanted.has(id));
  const stop = [
    ...plan.delete.filter(({ target }) => !isConfigured(target)).flatMap(({ running }) => running),
    ...found.running.filter(({ target }) => !isConfigured(target)).map(({ workflowId }) => workflowId),
  ];
  plan.stop = [...new Set(stop)];
  return plan;
}

export function isEmptyPlan(plan: SchedulePlan): boolean {
  return plan.create.length + plan.update.length + plan.delete.length + plan.stop.length === 0;
}

/** The longest time between two runs of a refresh that has nothing to do. */
const longestRefreshMs = 3_600_000;

/** The interval of a refresh's schedule that makes it run next when a request is due: at most an hour apart, in whole seconds. */
export function refreshInterval(
  everyMs: number,
  nowMs: number,
  nextDueAt: number,
): { everyMs: number; offsetMs: number } {
  const fromMs = Math.floor(nowMs / 1_000) * 1_000;
  const waitMs = Math.ceil(Math.min(longestRefreshMs, Math.max(everyMs, nextDueAt - fromMs)) / 1_000) * 1_000;
  // Intervals count from the epoch.
  return { everyMs: waitMs, offsetMs: fromMs % waitMs };
}

/** Whether a refresh itself has put its next run off. */
function isPutOff({ target, settings, digest }: ExistingSchedule, desired: DesiredSchedule): boolean {
  const [interval, ...others] = settings.intervals;
  const everyMs = desired.settings.intervals[0]?.everyMs ?? longestRefreshMs;
  if (target.kind !== 'refresh' || digest !== desired.digest || !interval || others.length > 0) return false;
  return interval.everyMs >= everyMs && interval.everyMs <= longestRefreshMs;
}

/** Null if nothing has to change. */
export function updateOf(desired: DesiredSchedule, existing: ExistingSchedule): ScheduleUpdate | null {
  const { intervals } = isPutOff(existing, desired) ? desired.settings : existing.settings;
  const found = { ...existing.settings, intervals };
  const changes = factChanges(settingsFacts(found), settingsFacts(desired.settings));
  const drift = existing.digest === null || existing.digest === desired.digest;
  if (changes.length > 0) return { desired, drift, changes };
  if (existing.digest === desired.digest) return null;
  return { desired, drift, changes: [`mark: ${existing.digest ?? 'missing'} → ${desired.digest}`] };
}

/** Input of `runScheduled`: the workflow to start, and the failover of both. */
export type ScheduledInput = Extract<ScheduleTarget, { kind: 'export' }> & WithFailover;

const failover = own<WithFailover['failover']>();

/** Shape of the input (X5): a person may have edited the schedule. */
export const readScheduledInput = reader<ScheduledInput>(
  z.object({ kind: z.literal('export'), org: text(), domain: text(), failover }),
);

export interface ScheduledResult {
  /** The workflow that does the work, under its fixed id. */
  workflowId: string;
  /** Its first run; null when it was already running. */
  runId: string | null;
  /** `skipped`: a person had started the workflow already; `cancelled`: a person cancelled it; else its outcome. */
  outcome: 'skipped' | 'cancelled' | 'completed' | ExportOutcome;
  /** The version, counts, or the reason. */
  detail: string;
}
