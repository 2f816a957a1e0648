import type { PassKind } from '../../feedback/rules/pass-bounds.ts';
import {
  type ScheduleTarget,
  scheduledRunId,
  scheduleId,
  searchAttributes,
  targetSummary,
  workflowTypes,
} from '../../rules/workflow-ids.ts';
import { type Failover, failoverTimes } from '../../temporal/rules/failover.ts';
import {
  type Calendar,
  calendarOfCron,
  factChanges,
  type ScheduleSettings,
  settingsDigest,
  settingsFacts,
  stableHash,
} from './schedule-settings.ts';
import type { ScheduledInput } from './starts.ts';

/** Times of a configured schedule: exactly one of `everyMs` and `cron`. */
export type ConfiguredTimes = { jitterMs: number } & (
  | { everyMs: number; cron?: never }
  | { cron: string; timezone: string; everyMs?: never }
);

/** What the configuration says about an organization's schedules (contracts.md). */
export interface ConfiguredOrganization {
  id: string;
  /** How requests that would expire unused are used. */
  spare?: 'verify';
  budget?: { windowMs: number };
  projects: readonly ({ id: string } & { [Pass in PassKind]?: ConfiguredTimes })[];
  sites: readonly { domain: string; schedule?: ConfiguredTimes }[];
}

export interface DesiredSchedule {
  id: string;
  target: ScheduleTarget;
  settings: ScheduleSettings;
  /** Stored in the schedule to distinguish changes by hand from changes of the configuration. */
  digest: string;
}

const passes: readonly PassKind[] = ['incremental', 'review', 'sweep'];
const dayMs = 86_400_000;
/** A verify pass begins once per window, unless the previous one is still running. */
const defaultWindowMs = 3_600_000;
/** The server accepts no shorter catch-up window. */
const shortestCatchupMs = 10_000;

/** All schedules of the configuration; work without one never starts on its own (architecture.md). Times and ids do not depend on the failover. */
export function desiredSchedules(
  taskQueue: string,
  organizations: readonly ConfiguredOrganization[],
  failover: Failover = 'fast',
): DesiredSchedule[] {
  return scheduledTargets(organizations).map(({ target, times }) => {
    const id = scheduleId(taskQueue, target);
    const settings: ScheduleSettings = {
      ...timesOf(id, times),
      jitterMs: times.jitterMs,
      // The scheduled run lasts as long as the work, so times during it are left out.
      overlap: 'SKIP',
      // After an outage one missed time is made up for: the first of several runs, the others overlap it.
      catchupMs: times.everyMs === undefined ? dayMs : Math.max(shortestCatchupMs, times.everyMs),
      pauseOnFailure: false,
      action: {
        workflowType: workflowTypes.runScheduled,
        taskQueue,
        workflowId: scheduledRunId(target),
        input: { ...target, failover } satisfies ScheduledInput,
        summary: `scheduled ${targetSummary(target)}`,
        taskTimeoutMs: failoverTimes(failover).workflowTaskTimeoutMs,
        attributes: attributesOf(target),
      },
      extras: {},
    };
    return { id, target, settings, digest: settingsDigest(settings) };
  });
}

/** Whether the configuration has the site or project, scheduled or not. */
export function isConfigured(organizations: readonly ConfiguredOrganization[], target: ScheduleTarget): boolean {
  const organization = organizations.find(({ id }) => id === target.org);
  if (!organization) return false;
  if (target.kind === 'export') return organization.sites.some(({ domain }) => domain === target.domain);
  if (target.pass === 'verify' && organization.spare !== 'verify') return false;
  return organization.projects.some(({ id }) => id === target.project);
}

function scheduledTargets(
  organizations: readonly ConfiguredOrganization[],
): { target: ScheduleTarget; times: ConfiguredTimes }[] {
  return organizations.flatMap(({ id: org, sites, projects, spare, budget }) => [
    ...sites.flatMap(({ domain, schedule }) =>
      schedule ? [{ target: { kind: 'export' as const, org, domain }, times: schedule }] : [],
    ),
    ...projects.flatMap((project) =>
      passes.flatMap((pass) => {
        const times = project[pass];
        return times ? [{ target: { kind: 'sync' as const, org, project: project.id, pass }, times }] : [];
      }),
    ),
    ...(spare === 'verify' ? projects : []).map(({ id: project }) => ({
      target: { kind: 'sync' as const, org, project, pass: 'verify' as const },
      times: roundsEvery(budget?.windowMs ?? defaultWindowMs),
    })),
  ]);
}

/** In whole seconds, as the server requires. */
function roundsEvery(windowMs: number): ConfiguredTimes {
  return { everyMs: Math.max(1, Math.ceil(windowMs / 1_000)) * 1_000, jitterMs: 0 };
}

function timesOf(id: string, times: ConfiguredTimes): Pick<ScheduleSettings, 'intervals' | 'calendars' | 'timezone'> {
  if (times.everyMs === undefined) {
    return { intervals: [], calendars: [calendarFrom(times.cron)], timezone: times.timezone };
  }
  const { everyMs } = times;
  return { intervals: [{ everyMs, offsetMs: offsetOf(id, everyMs) }], calendars: [], timezone: '' };
}

/** Spreads schedules of equal intervals over the interval, in whole seconds as the server requires. */
function offsetOf(id: string, everyMs: number): number {
  const seconds = Math.max(1, Math.floor(everyMs / 1000));
  return Number(stableHash(id) % BigInt(seconds)) * 1000;
}

function calendarFrom(cron: string): Calendar {
  const calendar = calendarOfCron(cron);
  if (!calendar) throw new RangeError(`not a cron expression: ${cron.slice(0, 40)}`);
  return calendar;
}

function attributesOf(target: ScheduleTarget): Record<string, string> {
  const { org, domain, project } = searchAttributes;
  return target.kind === 'export'
    ? { [org]: target.org, [domain]: target.domain }
    : { [org]: target.org, [project]: target.project };
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

/**
 * The changes that give the server exactly the desired schedules. Removing a site or project also stops its work;
 * removing only a schedule lets running work finish (architecture.md).
 */
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

/** Null if nothing has to change. */
export function updateOf(desired: DesiredSchedule, existing: ExistingSchedule): ScheduleUpdate | null {
  const changes = factChanges(settingsFacts(existing.settings), settingsFacts(desired.settings));
  const drift = existing.digest === null || existing.digest === desired.digest;
  if (changes.length > 0) return { desired, drift, changes };
  if (existing.digest === desired.digest) return null;
  return { desired, drift, changes: [`mark: ${existing.digest ?? 'missing'} → ${desired.digest}`] };
}
