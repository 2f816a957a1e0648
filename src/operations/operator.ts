import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { ForAWhile, OverrideAsk } from '../budget/rules/permits.ts';
import type { WindowView } from '../budget/rules/window-view.ts';
import type { ExportParameters, ExportState } from '../exports/rules/site-export.ts';
import { type InService, NoSuchVersion, type SiteHold } from '../exports/store/bundle-store.ts';
import { type PassKind, passKinds } from '../feedback/rules/sync.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import { ExplainedError } from '../rules/errors.ts';
import {
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
import { callsAtOnce, inBatches, type RunningWork } from '../temporal/runs.ts';
import {
  approveExport,
  describeWorkflow,
  type ExportHandle,
  exportHandle,
  exportState,
  pollNow,
  rejectExport,
  type StartedRollback,
  startExport,
  startRollback,
  waitingVersion,
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

  constructor(code: OperationRefused['code'], message: string, hint: string | null = null) {
    super(message, hint);
    this.code = code;
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

  /**
   * Puts the waiting version into service; the export records it. Refused if another version waits, or none. Sent again with
   * the same `updateId`, it is answered as it was the first time.
   */
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
    // A worker may be asked again for the window after it: the change is made once.
    const updateId = randomUUID();
    return this.installation.ask((client) =>
      this.installation.access.budgets(client).override(org, override, this.actor, updateId),
    );
  }

  /** Pauses a budget, null resumes it; the budget records it. Returns the window after it. */
  async pauseBudget(org: string, pause: ForAWhile | null): Promise<WindowView> {
    const updateId = randomUUID();
    return this.installation.ask((client) =>
      this.installation.access.budgets(client).pause(org, pause, this.actor, updateId),
    );
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

/**
 * Writes audit entries while work goes on: the first at once, those that come meanwhile together with the next ones. What
 * was done stays done when the store does not answer.
 */
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

/** What an operation on many would do, what of the selected it would skip, and what it could learn nothing about. */
export interface Plan<Item> {
  items: Item[];
  skipped: { item: Item; why: string }[];
  failed?: { item: Item; error: unknown }[];
}

/** How it went with one of many. */
export type Ended<Item, Answer> = { item: Item } & ({ ok: true; answer: Answer } | { ok: false; error: unknown });

export type RunningById = ReadonlyMap<string, Pick<RunningWork, 'phase' | 'runId'>>;

export const exportOf = ({ org, domain }: Site): ScheduleTarget & { kind: 'export' } => ({
  kind: 'export',
  org,
  domain,
});

/** Everything that may run for a project. */
export const passesOf = ({ org, project }: Project) =>
  passKinds.map((pass) => ({ kind: 'sync' as const, org, project, pass }));

/** The run under the id of a site's exports or of a pass; undefined when none is running. */
export const runIdOf = (running: RunningById, target: ScheduleTarget): string | undefined =>
  running.get(workflowIdOf(target))?.runId;

export const runs = (running: RunningById, target: ScheduleTarget): boolean => runIdOf(running, target) !== undefined;

/** Does the work for each, a few at a time by default: a failure of one stops no other. After an abort nothing else begins. */
export async function forEach<Item, Answer>(
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
  signal?: AbortSignal,
  atOnce = callsAtOnce,
): Promise<{ ended: Ended<Item, Answer>[]; notBegun: Item[] }> {
  const notBegun: Item[] = [];
  const all = await inBatches(items, atOnce, async (item): Promise<Ended<Item, Answer>[]> => {
    if (signal?.aborted) {
      notBegun.push(item);
      return [];
    }
    try {
      return [{ item, ok: true, answer: await work(item) }];
    } catch (error) {
      return [{ item, ok: false, error }];
    }
  });
  return { ended: all.flat(), notBegun };
}

/** Keeps what fits, and skips the rest with the reason that `whyNot` gives. */
function planOf<Item>(selected: readonly Item[], whyNot: (item: Item) => string | null): Plan<Item> {
  const checked = selected.map((item) => ({ item, why: whyNot(item) }));
  return {
    items: checked.flatMap(({ item, why }) => (why === null ? [item] : [])),
    skipped: checked.flatMap(({ item, why }) => (why === null ? [] : [{ item, why }])),
  };
}

/** The same for what each had to be asked about; `unknown` stands for the answer that did not come. */
function planOfAsked<Item, Answer>(
  ended: readonly Ended<Item, Answer>[],
  unknown: Answer,
  whyNot: (answer: Answer) => string | null,
): Plan<Item & Answer> {
  const asked = ended.flatMap((one) => (one.ok ? [{ ...one.item, ...one.answer }] : []));
  const failed = ended.flatMap((one) => (one.ok ? [] : [{ item: { ...one.item, ...unknown }, error: one.error }]));
  return { ...planOf(asked, whyNot), failed };
}

export function planCancel(sites: readonly Site[], running: RunningById): Plan<Site> {
  return planOf(sites, (site) => (runs(running, exportOf(site)) ? null : 'without a running export'));
}

/** The versions that wait, as they are now: an approval of the plan approves none that comes later. */
export async function planApprovals<Selected extends Site>(
  installation: Installation,
  sites: readonly Selected[],
  running: RunningById,
): Promise<Plan<Selected & { version: string | null }>> {
  // Temporal's list shows a phase a moment late, so every running export is asked.
  const { ended } = await forEach(sites, async (site) => ({
    version: runs(running, exportOf(site)) ? await waitingVersion(installation, site) : null,
  }));
  return planOfAsked(ended, { version: null }, ({ version }) =>
    version === null ? 'without a waiting version' : null,
  );
}

/** The sites to hold, or to release. A hold keeps what is in service when it is placed, which may be newer than the plan. */
export async function planHolds<Selected extends Site>(
  installation: Installation,
  kind: 'hold' | 'release',
  sites: readonly Selected[],
): Promise<Plan<Selected & InService>> {
  const store = await installation.bundles();
  const nothing = { current: null, held: null };
  const damaged = new Map<string, Error>();
  const domains = sites.map(({ domain }) => domain);
  const found = await store.inService(domains, (domain, error) => damaged.set(domain, error));
  const ended = sites.map((item): Ended<Selected, InService> => {
    const error = damaged.get(item.domain);
    return error ? { item, ok: false, error } : { item, ok: true, answer: found.get(item.domain) ?? nothing };
  });
  return planOfAsked(ended, nothing, ({ current, held }) => {
    if (kind === 'release') return held === null ? 'not held' : null;
    if (held !== null) return 'held already';
    return current === null ? 'without a published version' : null;
  });
}
