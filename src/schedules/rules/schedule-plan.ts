import type { DesiredSchedule } from './desired-schedules.ts';
import { factChanges, type ScheduleSettings, settingsFacts } from './schedule-settings.ts';
import type { ScheduleTarget } from '../../rules/schedule-target.ts';

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

export interface ScheduleUpdate {
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
