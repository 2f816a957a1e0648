import {
  type Client,
  type ScheduleExecutionResult,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { RunOutcome } from '../exports/rules/site-export.ts';
import type { RefreshResult } from '../feedback/rules/sync.ts';
import { counted } from '../rules/text.ts';
import { type ScheduleTarget, searchAttributes, workflowIdOf, workflowTypes } from '../rules/workflow-ids.ts';
import { isOutage } from '../temporal/connection.ts';
import type { Failover } from '../temporal/rules/failover.ts';
import { callsAtOnce, inBatches } from '../temporal/runs.ts';
import {
  type ConfiguredOrganization,
  desiredSchedules,
  type ScheduledResult,
  updateOf,
} from './rules/desired-schedules.ts';
import { whenText } from './rules/schedule-settings.ts';
import {
  describeSchedules,
  existingSchedule,
  type NamedSchedule,
  namedSchedules,
  type OwnedSchedule,
} from './schedules.ts';

/** The latest run of an export, rollback or pass that no schedule started. */
interface RunByHand {
  workflowId: string;
  startedAt: string;
  /** Temporal's status, e.g. `COMPLETED`. */
  status: string;
  /** The search attribute `DocferryOutcome`; null while it runs, and when it was terminated. */
  outcome: string | null;
}

/** One page of the server's list, the running and then the latest ended runs first. */
const mostListed = 1_000;

/**
 * The latest runs on the task queue that were started by hand, by workflow id, from one request: what scheduled runs start
 * has a parent. Of a site that others have outrun by a thousand runs, none is found.
 */
async function latestRunsByHand(client: Client, taskQueue: string): Promise<Map<string, RunByHand>> {
  const { exportSite, rollBack } = workflowTypes;
  const query = `WorkflowType IN ('${exportSite}', '${rollBack}') AND ParentWorkflowId IS NULL`;
  const latest = new Map<string, RunByHand>();
  let listed = 0;
  for await (const run of client.workflow.list({ query, pageSize: mostListed })) {
    listed += 1;
    const { workflowId, startTime, status } = run;
    if (run.taskQueue === taskQueue && !latest.has(workflowId)) {
      const [outcome = null] = (run.searchAttributes[searchAttributes.outcome] ?? []) as string[];
      latest.set(workflowId, { workflowId, startedAt: startTime.toISOString(), status: status.name, outcome });
    }
    if (listed >= mostListed) break;
  }
  return latest;
}

/** State or outcome of a scheduled run, or of a later one started by hand. */
export interface ScheduledRun {
  workflowId: string;
  /** Null for a run started by hand. */
  scheduledAt: string | null;
  startedAt: string;
  /** Temporal's status, e.g. `COMPLETED`; null after its retention. */
  status: string | null;
  /** As in `ScheduledResult`, or how a run without a result ended; null while it runs. */
  outcome: ScheduledResult['outcome'] | RunOutcome | null;
  detail: string | null;
}

export interface ScheduleView {
  id: string;
  target: ScheduleTarget;
  when: string;
  paused: boolean;
  note: string;
  configured: boolean;
  /** How it differs from the configuration, as `name: on the server → configured`. */
  differs: string[];
  /** Whether it was changed by hand. */
  drift: boolean;
  /** ISO 8601, the soonest first; none while paused. */
  next: string[];
  running: string[];
  /** Latest first; only the latest of those started by hand. */
  last: ScheduledRun[];
  started: number;
  /** Left out because a run was running. */
  skipped: number;
  /** Left out because the server could not start them in time. */
  missed: number;
}

const shownTimes = 5;
const shownRuns = 5;
/** For the result of a run that has ended. */
const answerWithinMs = 5_000;

export interface ScheduleViews {
  schedules: ScheduleView[];
  /** Ids of configured schedules that the server does not have. */
  missing: string[];
  /** Temporal did not say in time what they are, or whether they exist. */
  unread: NamedSchedule[];
  /** How many there are on all pages. */
  total: number;
}

export async function scheduleViews(
  client: Client,
  taskQueue: string,
  organizations: readonly ConfiguredOrganization[],
  failover: Failover,
  part?: { page: number; size: number } | undefined,
): Promise<ScheduleViews> {
  const desired = new Map(
    desiredSchedules(taskQueue, organizations, failover).map((schedule) => [schedule.id, schedule]),
  );
  const named = await namedSchedules(client, taskQueue, [...desired.keys()]);
  // Asks only for the schedules shown: each takes some ten calls.
  const shown = part ? named.slice((part.page - 1) * part.size, part.page * part.size) : named;
  const { schedules: owned, unread } = await describeSchedules(client, shown);
  const byHand = await latestRunsByHand(client, taskQueue);
  const schedules = await inBatches(owned, callsAtOnce, async (schedule): Promise<ScheduleView> => {
    const configured = desired.get(schedule.id);
    const existing = existingSchedule(client, schedule);
    const update = configured ? updateOf(configured, existing) : null;
    return {
      ...viewOf(schedule),
      when: whenText(existing.settings),
      configured: configured !== undefined,
      differs: update?.changes ?? [],
      drift: update?.drift ?? false,
      last: withRunByHand(await lastRuns(client, schedule), byHand.get(workflowIdOf(schedule.target))),
    };
  });
  const found = new Set([...owned, ...unread].map(({ id }) => id));
  const missing = shown.flatMap(({ id }) => (desired.has(id) && !found.has(id) ? [id] : []));
  return { schedules, missing, unread, total: named.length };
}

function viewOf({ id, target, description: { state, info } }: OwnedSchedule) {
  return {
    id,
    target,
    paused: state.paused,
    note: state.note ?? '',
    next: state.paused ? [] : info.nextActionTimes.slice(0, shownTimes).map((time) => time.toISOString()),
    running: info.runningActions.map(({ workflow }) => workflow.workflowId),
    started: info.numActionsTaken,
    skipped: info.numActionsSkippedOverlap,
    missed: info.numActionsMissedCatchupWindow,
  };
}

async function lastRuns(client: Client, { description }: OwnedSchedule): Promise<ScheduledRun[]> {
  const latest = description.info.recentActions.slice(-shownRuns).reverse();
  return Promise.all(latest.map((action) => readRun(client, action)));
}

function withRunByHand(scheduled: ScheduledRun[], byHand: RunByHand | undefined): ScheduledRun[] {
  if (byHand === undefined) return scheduled;
  const outcome = byHand.outcome as RunOutcome | null;
  const run = { ...byHand, scheduledAt: null, outcome, detail: 'started by hand' };
  return [...scheduled, run].sort((a, b) => b.startedAt.localeCompare(a.startedAt));
}

async function readRun(
  client: Client,
  { action, scheduledAt, takenAt }: ScheduleExecutionResult,
): Promise<ScheduledRun> {
  const { workflowId, firstExecutionRunId } = action.workflow;
  const run = { workflowId, scheduledAt: scheduledAt.toISOString(), startedAt: takenAt.toISOString() };
  const handle = client.workflow.getHandle(workflowId, firstExecutionRunId);
  try {
    const { status } = await handle.describe();
    if (status.name === 'RUNNING') return { ...run, status: status.name, outcome: null, detail: null };
    const result = () => client.withDeadline(Date.now() + answerWithinMs, () => handle.result());
    return { ...run, status: status.name, ...(await endOf(result as () => Promise<ScheduledResult | RefreshResult>)) };
  } catch (error) {
    if (isOutage(error)) return { ...run, status: null, outcome: null, detail: 'Temporal did not say' };
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return { ...run, status: null, outcome: null, detail: null };
  }
}

async function endOf(
  result: () => Promise<ScheduledResult | RefreshResult>,
): Promise<Pick<ScheduledRun, 'outcome' | 'detail'>> {
  try {
    const ended = await result();
    if ('outcome' in ended) return { outcome: ended.outcome, detail: ended.detail };
    const { inserted, updated, tombstoned } = ended.entries;
    const found = `${inserted} new, ${updated} changed, ${tombstoned} deleted`;
    return { outcome: 'completed', detail: `${counted(ended.requests, 'request')}: ${found}` };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    if (cause instanceof CancelledFailure) return { outcome: 'cancelled', detail: 'it was cancelled' };
    if (cause instanceof ApplicationFailure) return { outcome: 'failed', detail: `${cause.type}: ${cause.message}` };
    return { outcome: 'failed', detail: cause?.message ?? null };
  }
}
