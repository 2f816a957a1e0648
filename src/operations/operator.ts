import { randomUUID } from 'node:crypto';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { ForAWhile, OverrideAsk, WindowView } from '../budget/rules/permits.ts';
import { attributesOf, exportStateQuery, type Workflows } from '../contract.ts';
import {
  type ExportInput,
  type ExportParameters,
  type ExportState,
  type RollbackInput,
  sameParameters,
  searchedPhase,
} from '../exports/rules/site-export.ts';
import { NoSuchVersion, type SiteHold } from '../exports/store/bundle-store.ts';
import type { PassKind } from '../feedback/rules/pass-bounds.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import { ExplainedError } from '../rules/errors.ts';
import {
  exportWorkflowId,
  type ScheduleTarget,
  scheduleId,
  type WorkTarget,
  workflowIdOf,
  workflowTypes,
} from '../rules/workflow-ids.ts';
import {
  type Actor,
  type AuditEntry,
  auditRows,
  cancelledRun,
  doneBy,
  type OwnAuditEntry,
  startedExport,
  startedPass,
} from '../runs/rules/audit.ts';
import { backfillSchedule, pauseSchedule, resumeSchedule, triggerSchedule } from '../schedules/schedules.ts';
import { failoverIn, priorityOf, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { startUnlessRunning } from '../temporal/runs.ts';
import {
  approveExport,
  describeWorkflow,
  type ExportHandle,
  exportHandle,
  exportState,
  pollNow,
  rejectExport,
} from './exports.ts';
import type { Installation } from './installation.ts';
import { type Started, type SyncHandle, startOrJoinSync } from './syncs.ts';

export interface Site {
  org: string;
  domain: string;
}

export interface Project {
  org: string;
  project: string;
}

/** The state of things does not allow the operation. */
class OperationRefused extends ExplainedError {
  override readonly name = 'OperationRefused';
  readonly code: 'NotRunning' | 'NotHeld' | 'NoSuchVersion' | 'InService';
  readonly hint: string | null;

  constructor(code: OperationRefused['code'], message: string, hint: string | null = null) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

interface KnownRun {
  workflowId: string;
  runId: string;
}

/**
 * What a person can do, each once for the command line and the console. What no workflow records, the operator records in
 * the audit once it has taken effect; `end` says whether the audit took it.
 */
export class Operator {
  readonly installation: Installation;
  readonly actor: Actor & { who: string };
  readonly #request: string;
  readonly #detail: { bulk?: true };
  readonly #audit: AuditWriter;

  /** @param request unique to one use; the server makes it, so that nobody keeps an act out of the audit by repeating one */
  constructor(
    installation: Installation,
    actor: Actor & { who: string },
    { bulk = false, request = randomUUID() }: { bulk?: boolean; request?: string } = {},
  ) {
    this.installation = installation;
    this.actor = actor;
    this.#request = request;
    this.#detail = bulk ? { bulk } : {};
    this.#audit = new AuditWriter(installation);
  }

  /** Starts an export; joins or refuses a running one, as asked. Throws `ExportRunning`. */
  async startExport(
    { org, domain }: Site,
    parameters: ExportParameters,
    onRunning: 'join' | 'refuse' = 'join',
  ): Promise<Started<ExportHandle>> {
    const { taskQueue, failover, askWorker } = this.installation.access;
    const input = { org, domain, parameters, failover };
    const client = await this.installation.temporal();
    const started = await startExport(client, taskQueue, input, onRunning, (ask) => askWorker(client, ask));
    this.record(startedExport(org, domain, started.runId, parameters));
    return started;
  }

  /** Starts a pass, or joins the running one of its kind. */
  async startPass(
    { org, project }: Project,
    pass: PassKind,
    dates: { from?: string; to?: string } = {},
  ): Promise<Started<SyncHandle>> {
    const { taskQueue, failover } = this.installation.access;
    const input = { org, project, pass, ...dates, failover };
    const started = await startOrJoinSync(await this.installation.temporal(), taskQueue, input);
    this.record(startedPass(input, started.runId));
    return started;
  }

  /** Cancels what runs under the id of an export or pass; with `runId` that run and no later one. */
  async cancel(target: WorkTarget, runId?: string): Promise<KnownRun> {
    const client = await this.installation.temporal();
    const workflowId = workflowIdOf(target);
    const run = await runningOf(client.workflow.getHandle(workflowId, runId), target, runId);
    // The run that was described: the audit names it, and another may have begun.
    await client.workflow.getHandle(workflowId, run.runId).cancel();
    this.record([cancelledRun(target, run.runId)]);
    return run;
  }

  /** Polls the job of a running export now. */
  async pollNow({ org, domain }: Site): Promise<KnownRun & { state: ExportState }> {
    const run = await runningExport(this.installation, { org, domain });
    const state = await this.installation.ask((client) => pollNow(client, org, domain));
    this.record([doneBy(this.#request, 'poll-now', { kind: 'export', org, domain })]);
    return { ...run, state };
  }

  /** Puts the waiting version into service, as `approveExport`; the export records it. */
  async approve({ org, domain }: Site, version: string, updateId?: string): Promise<void> {
    await this.installation.ask((client) => approveExport(client, { org, domain, version }, this.actor, updateId));
  }

  /** Ends the export and removes the waiting version; the export records it. Refused as an approval is. */
  async reject({ org, domain }: Site, version: string, updateId?: string): Promise<void> {
    const asked = { org, domain, version, reason: this.actor.reason ?? '' };
    await this.installation.ask((client) => rejectExport(client, asked, this.actor, updateId));
  }

  /**
   * Starts a rollback, which holds the site and records itself; a running export is cancelled or refuses it, as asked.
   * Throws `OperationRefused` for the version in service, unless a rollback to it is running.
   */
  async rollBack({ org, domain }: Site, version: string, onRunning: 'cancel' | 'refuse'): Promise<StartedRollback> {
    const { taskQueue, failover, askWorker } = this.installation.access;
    const store = await this.installation.bundles();
    await store.manifest(domain, version);
    const client = await this.installation.temporal();
    const { who, reason = null } = this.actor;
    if ((await store.current(domain))?.version === version && !(await this.#rollsBackTo({ org, domain }, version))) {
      throw new OperationRefused(
        'InService',
        `${version} is in service already`,
        `if you mean the version before it, say \`previous\`; to keep this one, \`docferry export hold ${domain}\``,
      );
    }
    return startRollback(
      client,
      taskQueue,
      { org, domain, version, reason, who, failover },
      {
        onRunning,
        askWorker: (ask) => askWorker(client, ask),
        // Retention may have removed it meanwhile.
        async beforeCancel() {
          const hint = 'the running export goes on; `docferry export versions` lists the versions';
          await store.manifest(domain, version).catch(refusedIn(store.place, hint));
        },
      },
    );
  }

  async #rollsBackTo({ org, domain }: Site, version: string): Promise<boolean> {
    const running = await describeWorkflow(exportHandle(await this.installation.temporal(), org, domain));
    if (running?.type !== workflowTypes.rollBack || running.status.name !== 'RUNNING') return false;
    const state = await this.installation.ask((client) => exportState(client, org, domain));
    return state.parameters.rollback === version;
  }

  /** Holds a site at the version it has in service. */
  async hold({ org, domain }: Site): Promise<SiteHold> {
    const store = await this.installation.bundles();
    const hint = "run this where the workers' store is, once a version is published";
    const hold = await store.holds
      .place(domain, { version: null, reason: this.actor.reason ?? null, at: new Date() })
      .catch(refusedIn(store.place, hint));
    this.record([doneBy(this.#request, 'hold', { kind: 'export', org, domain }, { version: hold.version })]);
    return hold;
  }

  /** Ends a hold, and returns it. */
  async release({ org, domain }: Site): Promise<SiteHold> {
    const store = await this.installation.bundles();
    const released = await store.holds.release(domain);
    if (released === null) {
      throw new OperationRefused(
        'NotHeld',
        `${domain} is not held in ${store.place}`,
        'see `docferry export versions`',
      );
    }
    const detail = { version: released.version };
    this.record([doneBy(this.#request, 'release', { kind: 'export', org, domain }, detail)]);
    return released;
  }

  /** Overrides the limits of a budget, null ends that; the budget records it. Returns the window after it. */
  async overrideBudget(org: string, override: OverrideAsk | null): Promise<WindowView> {
    return this.installation.ask((client) =>
      this.installation.access.budgets(client).override(org, override, this.actor),
    );
  }

  /** Pauses a budget, null resumes it; the budget records it. Returns the window after it. */
  async pauseBudget(org: string, pause: ForAWhile | null): Promise<WindowView> {
    return this.installation.ask((client) => this.installation.access.budgets(client).pause(org, pause, this.actor));
  }

  /** Moves a budget to the task queue of the configuration (B7). */
  async moveBudget(org: string): Promise<'moved' | 'moved-empty' | 'in-place'> {
    const client = await this.installation.temporal();
    return this.installation.access.budgets(client).move(org, this.actor);
  }

  /** Pauses the schedule of an export or pass; what runs goes on. */
  async pauseSchedule(target: ScheduleTarget, note: string): Promise<void> {
    await pauseSchedule(await this.installation.temporal(), this.#scheduleId(target), note);
    this.record([doneBy(this.#request, 'schedule-pause', target)]);
  }

  async resumeSchedule(target: ScheduleTarget, note: string): Promise<void> {
    await resumeSchedule(await this.installation.temporal(), this.#scheduleId(target), note);
    this.record([doneBy(this.#request, 'schedule-resume', target)]);
  }

  /** Starts a scheduled run now, also of a paused schedule, unless one is running. */
  async triggerSchedule(target: ScheduleTarget): Promise<{ alreadyRunning: boolean }> {
    const answer = await triggerSchedule(await this.installation.temporal(), this.#scheduleId(target));
    if (!answer.alreadyRunning) this.record([doneBy(this.#request, 'schedule-trigger', target)]);
    return answer;
  }

  /** Makes up for the starts between two past moments, both included, one after the other; there are `runs` of them. */
  async backfillSchedule(
    target: ScheduleTarget,
    { from, to, runs }: { from: number; to: number; runs: number },
  ): Promise<void> {
    await backfillSchedule(await this.installation.temporal(), this.#scheduleId(target), from, to);
    const detail = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), runs };
    this.record([doneBy(this.#request, 'schedule-backfill', target, detail)]);
  }

  recordEndedSessions(login: string, sessions: number): void {
    const entryId = `${this.#request}/end-sessions`;
    const detail = { sessions };
    this.record([{ entryId, action: 'end-sessions', org: null, subject: login, workflowId: null, detail }]);
  }

  record(entries: readonly OwnAuditEntry[]): void {
    const own = entries.map((entry) => ({ ...entry, detail: { ...this.#detail, ...entry.detail } }));
    this.#audit.write(auditRows(own, this.actor, new Date()));
  }

  /** Waits until the audit has everything; returns why it lacks something, null when it lacks nothing. */
  async end(): Promise<{ error: unknown } | null> {
    return this.#audit.end();
  }

  #scheduleId(target: ScheduleTarget): string {
    return scheduleId(this.installation.access.taskQueue, target);
  }
}

/** The kind of pass that a project needs when nobody names one. */
export async function usualPass(
  store: Pick<FeedbackStore, 'everSwept'>,
  { org, project }: Project,
): Promise<'incremental' | 'sweep'> {
  return (await store.everSwept(org, project)) ? 'incremental' : 'sweep';
}

/** The running export of a site. Throws `OperationRefused`. */
export async function runningExport(installation: Installation, { org, domain }: Site): Promise<KnownRun> {
  const handle = exportHandle(await installation.temporal(), org, domain);
  return runningOf(handle, { kind: 'export', org, domain });
}

/** Throws `OperationRefused` unless it is running. */
async function runningOf(handle: WorkflowHandle, target: WorkTarget, runId?: string): Promise<KnownRun> {
  const run = await describeWorkflow(handle);
  if (run?.status.name === 'RUNNING') return { workflowId: run.workflowId, runId: run.runId };
  const { kind } = target;
  const type = kind === 'sync' ? target.pass : run?.type === workflowTypes.rollBack ? 'rollback' : 'export';
  const what = `${type} of ${kind === 'sync' ? target.project : target.domain}`;
  throw new OperationRefused(
    'NotRunning',
    runId === undefined ? `no ${what} is running` : `this ${what} has already ended`,
  );
}

const refusedIn =
  (place: string, hint: string) =>
  (error: unknown): never => {
    if (!(error instanceof NoSuchVersion)) throw error;
    throw new OperationRefused('NoSuchVersion', `${error.message} in ${place}`, hint);
  };

/** An export of the domain is running, and this request cannot join it (E1). */
export class ExportRunning extends ExplainedError {
  override readonly name = 'ExportRunning';
  readonly code = 'ExportRunning';
  readonly hint = 'wait for its end, or cancel it with `docferry export cancel`';
}

/** How long to wait for a worker's answer about a running workflow; absent: Temporal's own limit. */
type AskWorker = <Answer>(ask: () => Promise<Answer>) => Promise<Answer>;

/**
 * Starts the export of a site. If one with the same parameters is running, joins it or refuses, as asked; if its
 * parameters differ, refuses. Throws `ExportRunning`, and what `askWorker` throws: only a running one is asked.
 */
export async function startExport(
  client: Client,
  taskQueue: string,
  input: ExportInput,
  onRunning: 'join' | 'refuse',
  askWorker: AskWorker = (ask) => ask(),
): Promise<Started<ExportHandle>> {
  const workflowId = exportWorkflowId(input.org, input.domain);
  const started = await startUnlessRunning(client, workflowId, () =>
    client.workflow.start<Workflows['exportSite']>(workflowTypes.exportSite, {
      workflowId,
      taskQueue,
      workflowIdConflictPolicy: 'FAIL',
      ...taskTimeoutFor(failoverIn(input)),
      ...priorityOf('onDemand', input.org),
      args: [input],
      staticSummary: `export of ${input.domain} (${input.org})`,
      typedSearchAttributes: attributesOf({ org: input.org, domain: input.domain, phase: searchedPhase.starting }),
    }),
  );
  if (started !== null) return { handle: started, joined: false, runId: started.firstExecutionRunId };
  const handle = exportHandle(client, input.org, input.domain);
  if (onRunning === 'refuse') throw new ExportRunning(`an export of ${input.domain} is already running`);
  const running = await askWorker(() => handle.query(exportStateQuery));
  if (!sameParameters(running.parameters, input.parameters)) {
    throw new ExportRunning(
      `an export of ${input.domain} with other parameters (${describeParameters(running)}) is already running`,
    );
  }
  return { handle, joined: true, runId: null };
}

function describeParameters({ parameters }: ExportState): string {
  const { siteVersion, paths, promote, force, rollback } = parameters;
  const parts = [
    siteVersion === undefined ? '' : `site version ${siteVersion}`,
    paths === undefined || paths.length === 0 ? '' : `${paths.length} paths`,
    promote ? 'promote' : '',
    force ? 'force' : '',
    rollback === undefined ? '' : `rollback to ${rollback}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'none given' : parts.join(', ');
}

type RollbackHandle = WorkflowHandle<Workflows['rollBack']>;

interface StartedRollback {
  handle: RollbackHandle;
  /** The same rollback was already running. */
  joined: boolean;
  /** An export was running, and was cancelled. */
  cancelled: boolean;
}

/** A schedule may start the next export at the moment one ends. */
const tries = 5;

interface RollbackStart {
  onRunning: 'cancel' | 'refuse';
  /** Throws to leave a running export alone. */
  beforeCancel: () => Promise<void>;
  askWorker?: AskWorker;
}

/**
 * Starts a rollback under the id of the site's exports, or joins the same rollback. A running export is cancelled and
 * waited for, or a reason to refuse, as asked; always to refuse if it is about to put this version into service. Throws
 * `ExportRunning`, and what `beforeCancel` and `askWorker` throw.
 */
export async function startRollback(
  client: Client,
  taskQueue: string,
  input: RollbackInput,
  { onRunning, beforeCancel, askWorker = (ask) => ask() }: RollbackStart,
): Promise<StartedRollback> {
  const { org, domain, version } = input;
  const workflowId = exportWorkflowId(org, domain);
  for (let left = tries, cancelled = false; ; left -= 1) {
    try {
      const handle = await client.workflow.start<Workflows['rollBack']>(workflowTypes.rollBack, {
        workflowId,
        taskQueue,
        workflowIdConflictPolicy: 'FAIL',
        ...taskTimeoutFor(failoverIn(input)),
        ...priorityOf('urgent', org),
        args: [input],
        staticSummary: `rollback of ${domain} to ${version} (${org})`,
        typedSearchAttributes: attributesOf({ org, domain, phase: 'rolling-out' }),
      });
      return { handle, joined: false, cancelled };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const running = client.workflow.getHandle<Workflows['rollBack']>(workflowId);
    const state = await askWorker(() => stateOf(running));
    if (state?.parameters.rollback === version) return { handle: running, joined: true, cancelled };
    if (state !== null && (onRunning === 'refuse' || left <= 1)) {
      throw new ExportRunning(`an export of ${domain} is already running (${describeParameters(state)})`);
    }
    if (state?.approval?.version === version) {
      throw new ExportRunning(`${version} is not in service yet: it waits for approval`);
    }
    if (state !== null && !cancelled) await beforeCancel();
    cancelled = (await cancelAndWait(running)) || cancelled;
  }
}

/** Null after its end. */
async function stateOf(handle: RollbackHandle): Promise<ExportState | null> {
  const { status } = await handle.describe();
  return status.name === 'RUNNING' ? handle.query(exportStateQuery) : null;
}

/** Returns, after the clean-up, whether there was something to cancel. */
async function cancelAndWait(handle: RollbackHandle): Promise<boolean> {
  try {
    await handle.cancel();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
  // Its outcome does not matter here.
  await handle.result().catch(() => {});
  return true;
}

/** Writes audit entries while work goes on, in batches. What was done stays done when the store does not answer. */
class AuditWriter {
  readonly #installation: Installation;
  readonly #waiting: AuditEntry[] = [];
  #writing: Promise<void> | null = null;
  #failure: { error: unknown } | null = null;

  constructor(installation: Installation) {
    this.#installation = installation;
  }

  write(entries: readonly AuditEntry[]): void {
    this.#waiting.push(...entries);
    // After a failure the rest waits for the end: a store that is down would be asked for each audit entry.
    if (entries.length === 0 || this.#failure !== null || this.#writing !== null) return;
    this.#writing = this.#writeWaiting().finally(() => {
      this.#writing = null;
    });
  }

  /** Writes what is left, and once more what could not be written before. */
  async end(): Promise<{ error: unknown } | null> {
    await this.#writing;
    this.#failure = null;
    await this.#writeWaiting();
    return this.#failure;
  }

  async #writeWaiting(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const rows = [...this.#waiting];
        await (await this.#installation.audit()).recordAuditEntries(rows);
        this.#waiting.splice(0, rows.length);
      }
    } catch (error) {
      this.#failure = { error };
    }
  }
}
