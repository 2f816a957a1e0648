import {
  CancellationScope,
  condition,
  defineWorkflowOptions,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import { waitText } from '../budget/rules/window-view.ts';
import { permitsFreedSignal, refreshStateQuery, syncStateQuery } from '../contract.ts';
import { addCounts, noEntries } from '../feedback/rules/feedback-entry.ts';
import {
  type CarriedSync,
  mostNamed,
  type ProjectFindings,
  type RefreshInput,
  type RefreshProgress,
  type RefreshResult,
  type RefreshState,
  readRefreshInput,
  readSyncInput,
  type SyncInput,
  type SyncProgress,
  type SyncResult,
  type SyncState,
} from '../feedback/rules/sync.ts';
import { clockTime, forecastText, ignoredFacts, spanText } from '../rules/text.ts';
import {
  endFacts,
  failureSummary,
  followFailover,
  nextInput,
  noInput,
  onQuery,
  onSignal,
  pageOptions,
  readContinued,
  readsInput,
  recordOptions,
  requireNotCancelled,
  runStep,
  showEnd,
  showFacts,
  showPhase,
} from './kit.ts';
import { announce } from './runs.ts';

type Phase = SyncState['phase'];
type RunEnd = 'completed' | 'failed' | 'cancelled';

/** What one activity has read. */
interface Leg {
  isLast: boolean;
  waiting?: SyncState['waiting'];
}

/** Events of a run before it continues as new, well below 4,096, at which the server suggests it. */
const eventsPerRun = 3_000;

/** A run that reads feedback lease by lease and waits for the budget in between: a pass, or a refresh. */
abstract class FeedbackRun<Result> {
  protected phase: Phase = 'starting';
  protected waiting: SyncState['waiting'] = null;
  protected ended: { outcome: RunEnd; reason: string } | null = null;
  /** Signals that made no sense. */
  protected ignored = 0;
  #woken = false;

  /** Whether there is something to finish. */
  protected get hasRow(): boolean {
    return true;
  }

  /** What comes before the first page. */
  protected async begin(): Promise<void> {}
  protected abstract readLeg(): Promise<Leg>;
  protected abstract addWait(ms: number): void;
  protected abstract finish(outcome: RunEnd, error: string | null): Promise<Result>;
  /** Each change of a search attribute costs an event: most are left out. */
  protected abstract isSearched(from: Phase, to: Phase): boolean;
  protected abstract show(): void;

  /** Hears the budget; call it when the run can be shown. */
  listen(): void {
    onSignal(permitsFreedSignal, noInput, {
      take: () => {
        this.#woken = true;
      },
      ignored: () => {
        this.ignored += 1;
        this.show();
      },
      description: 'Permits came back: ask again now.',
    });
  }

  /** The result, or null when the run has grown long and should continue as new. */
  async run(): Promise<Result | null> {
    try {
      await this.begin();
      return (await this.#read()) ? await this.finish('completed', null) : null;
    } catch (error) {
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await CancellationScope.nonCancellable(() => this.#recordFailure(error, cancelled));
      throw error;
    }
  }

  /** True when all is read, false when the run should continue as new. */
  async #read(): Promise<boolean> {
    this.#enter('reading');
    for (;;) {
      // A wake-up may overtake the answer that says to wait, so it counts from the question.
      this.#woken = false;
      const { isLast, waiting } = await this.readLeg();
      this.show();
      if (isLast) return true;
      if (waiting) await this.#waitForBudget(waiting);
      const { continueAsNewSuggested, historyLength } = workflowInfo();
      if (!continueAsNewSuggested && historyLength < eventsPerRun) continue;
      requireNotCancelled();
      return false;
    }
  }

  /** Waits on a durable timer that the budget can cut short. */
  async #waitForBudget(waiting: NonNullable<SyncState['waiting']>): Promise<void> {
    const since = Date.now();
    const { until, place, reason } = waiting;
    const refused = reason === 'unauthorized';
    this.waiting = waiting;
    this.#enter(refused ? 'unauthorized' : 'waiting-for-budget');
    const summary = refused
      ? `key refused (401), next try at ${clockTime(until)}`
      : `budget free at ${clockTime(until)}, place ${place}`;
    await condition(() => this.#woken, Math.max(1, until - since), { summary });
    this.waiting = null;
    this.#enter('reading');
    this.addWait(Date.now() - since);
  }

  /** The workflow ends with the run's own failure, even if its row cannot be written. */
  async #recordFailure(error: unknown, cancelled: boolean): Promise<void> {
    const outcome = cancelled ? 'cancelled' : 'failed';
    const reason = failureSummary(error);
    try {
      if (this.hasRow) await this.finish(outcome, reason);
    } catch (failure) {
      log.error('the row of the run could not be written', { failure: failureSummary(failure) });
    }
    if (!this.ended) this.showEnd(outcome, reason);
  }

  protected showEnd(outcome: RunEnd, reason: string): void {
    this.ended = { outcome, reason };
    this.phase = 'done';
    this.waiting = null;
    showEnd(outcome);
    this.show();
  }

  /** The first lines of Current Details: the end, or the phase and what the run waits for. */
  protected facts(): [string, string][] {
    if (this.ended) return endFacts(this.ended);
    const facts: [string, string][] = [['phase', this.phase]];
    if (!this.waiting) return facts;
    const { until, place, behind, reason } = this.waiting;
    const queue = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
    return [...facts, ['waiting until', `${clockTime(until)}, place ${place}${queue}`], ['why', waitText[reason]]];
  }

  #enter(phase: Phase): void {
    if (phase === this.phase) return;
    if (this.isSearched(this.phase, phase)) showPhase(phase);
    this.phase = phase;
    this.show();
  }
}

/** Reads a project's feedback into the store in one pass, lease by lease (S1 to S3). */
export async function syncFeedback(given: SyncInput): Promise<SyncResult> {
  const input = readContinued(readSyncInput, given);
  followFailover(input);
  const sync = new Sync(input);
  onQuery(syncStateQuery, () => sync.state(), 'Progress of the pass, and what it waits for.');
  sync.listen();
  const done = await sync.run();
  if (!done)
    return await makeContinueAsNewFunc<typeof syncFeedback>()(nextInput({ ...input, carried: sync.carried() }));
  return done;
}
defineWorkflowOptions(syncFeedback, readsInput);

class Sync extends FeedbackRun<SyncResult> {
  readonly #input: SyncInput;
  #progress: SyncProgress | null = null;
  #forecast: SyncState['forecast'] = null;
  #tries = 0;

  constructor(input: SyncInput) {
    super();
    this.#input = input;
    if (!input.carried) return;
    const { tries, ignored = 0, ...progress } = input.carried;
    this.#progress = progress;
    this.ignored = ignored;
    this.#tries = tries;
  }

  state(): SyncState {
    const { org, project, pass } = this.#input;
    const { phase, waiting, ignored } = this;
    const forecast = this.ended ? null : this.#forecast;
    return { org, project, pass, phase, progress: this.#progress, waiting, forecast, ignored };
  }

  carried(): CarriedSync {
    return { ...this.#begun(), tries: this.#tries, ...(this.ignored > 0 && { ignored: this.ignored }) };
  }

  #begun(): SyncProgress {
    if (!this.#progress) throw new Error('the pass has not begun');
    return this.#progress;
  }

  protected override get hasRow(): boolean {
    return this.#progress !== null;
  }

  /** Cancelled meanwhile, the pass still gets its row, which its end closes (X4). */
  protected override begin(): Promise<void> {
    return CancellationScope.nonCancellable(async () => {
      if (this.#progress) return;
      const { carried: _carried, failover: _failover, ...asked } = this.#input;
      const { firstExecutionRunId: passId, startTime } = workflowInfo();
      const { storeId } = await runStep('beginPass', recordOptions, `begin ${asked.pass} of ${asked.project}`, {
        ...asked,
        passId,
        startedAt: startTime.getTime(),
      });
      this.#progress = { passId, storeId, pages: 0, requests: 0, throttled: 0, waitedMs: 0, entries: noEntries };
    });
  }

  protected async readLeg() {
    const { org, project } = this.#input;
    const progress = this.#begun();
    const { passId, storeId } = progress;
    const leg = await runStep('fetchPages', pageOptions, `pages of ${project} from ${progress.pages + 1}`, {
      org,
      project,
      passId,
      storeId,
      tries: this.#tries,
    });
    // From the first lease in a restored store on, the original can no longer take part.
    if (leg.storeId !== undefined) progress.storeId = leg.storeId;
    progress.pages = leg.pages;
    progress.entries = leg.entries;
    progress.requests = leg.requests;
    progress.throttled = leg.throttled;
    this.#tries = leg.tries;
    this.#forecast = leg.forecast;
    return { isLast: leg.outcome === 'complete', waiting: leg.waiting };
  }

  protected addWait(ms: number): void {
    this.#begun().waitedMs += ms;
  }

  protected async finish(outcome: RunEnd, error: string | null): Promise<SyncResult> {
    const { org, project, pass } = this.#input;
    const progress = this.#begun();
    const { watermark, verifiedUpTo, webhooks, ...totals } = await runStep(
      'finishPass',
      recordOptions,
      `finish ${pass} of ${project}: ${outcome}`,
      { ...progress, org, project, outcome, error, finishedAt: Date.now() },
    );
    this.#progress = { ...progress, ...totals };
    this.showEnd(outcome, error ?? '');
    const { passId: _passId, storeId: _storeId, ...counts } = this.#progress;
    const { workflowId, runId } = workflowInfo();
    const result = { workflowId, runId, org, project, pass, ...counts, watermark, verifiedUpTo };
    const { waitedMs: _waitedMs, ...published } = result;
    const timestamp = new Date().toISOString();
    await announce(org, webhooks, { type: 'feedback.pass.finished', timestamp, data: { ...published, outcome } });
    return result;
  }

  /** Waits come with every window. */
  protected isSearched(from: SyncState['phase'], to: SyncState['phase']): boolean {
    return from !== 'waiting-for-budget' && to !== 'waiting-for-budget';
  }

  protected show(): void {
    const { project, pass, org } = this.#input;
    const facts = this.facts();
    if (this.#forecast && !this.ended && this.waiting?.reason !== 'paused') {
      facts.push(['expected end', forecastText(this.#forecast, Date.now())]);
    }
    if (this.#progress) {
      const { pages: read, requests, throttled, waitedMs, entries } = this.#progress;
      facts.push(['pages', `${read} (${requests} requests, ${throttled} of them refused with 429)`]);
      facts.push(['entries', `${entries.seen} seen, ${entries.inserted} new, ${entries.updated} changed`]);
      if (entries.rejected > 0) facts.push(['unreadable entries', `${entries.rejected}, stored in feedback_rejects`]);
      facts.push(['waited for the budget', spanText(waitedMs)]);
    }
    facts.push(...ignoredFacts(this.ignored));
    showFacts(`**${pass} of ${project}** (${org})`, facts);
  }
}

/** Reads what is due of an organization's feedback, where most staleness has gathered (S4). */
export async function refreshFeedback(given: RefreshInput): Promise<RefreshResult> {
  const input = readContinued(readRefreshInput, given);
  followFailover(input);
  const refresh = new Refresh(input);
  onQuery(refreshStateQuery, () => refresh.state(), 'What the refresh has found, and what it waits for.');
  refresh.listen();
  const done = await refresh.run();
  if (done) return done;
  return await makeContinueAsNewFunc<typeof refreshFeedback>()(nextInput({ ...input, carried: refresh.carried() }));
}
defineWorkflowOptions(refreshFeedback, readsInput);

const nothing = { pages: 0, requests: 0, throttled: 0, waitedMs: 0, entries: noEntries, others: 0 };

class Refresh extends FeedbackRun<RefreshResult> {
  readonly #org: string;
  readonly #startedAt: number;
  readonly #found = new Map<string, ProjectFindings>();
  #progress: Omit<RefreshProgress, 'projects'> | null = null;
  #nextDueAt: number | null = null;

  constructor({ org, carried }: RefreshInput) {
    super();
    this.#org = org;
    this.#startedAt = carried?.startedAt ?? workflowInfo().startTime.getTime();
    if (!carried) return;
    const { startedAt: _, ignored = 0, projects, ...progress } = carried;
    this.#progress = progress;
    this.ignored = ignored;
    for (const found of projects) this.#found.set(found.project, found);
  }

  state(): RefreshState {
    const { phase, waiting, ignored } = this;
    return { org: this.#org, phase, waiting, ignored, progress: this.#progress && this.#named(this.#progress) };
  }

  carried() {
    if (!this.#progress) throw new Error('continue-as-new before anything was read');
    const progress = this.#named(this.#progress);
    return { ...progress, startedAt: this.#startedAt, ...(this.ignored > 0 && { ignored: this.ignored }) };
  }

  protected async readLeg() {
    const leg = await runStep('refreshPages', pageOptions, `pages of ${this.#org} that are worth most`, {
      org: this.#org,
      storeId: this.#progress?.storeId ?? null,
    });
    const before = this.#progress ?? nothing;
    this.#progress = {
      storeId: leg.storeId,
      pages: before.pages + leg.pages,
      requests: before.requests + leg.requests,
      throttled: before.throttled + leg.throttled,
      waitedMs: before.waitedMs,
      entries: addCounts(before.entries, leg.entries),
      others: before.others,
    };
    this.#add(leg.projects);
    this.#nextDueAt = leg.nextDueAt;
    return { isLast: leg.outcome === 'done', waiting: leg.waiting };
  }

  protected addWait(ms: number): void {
    if (this.#progress) this.#progress.waitedMs += ms;
  }

  /** Adds findings of one of the steps; projects beyond those that are named are only counted. */
  #add(findings: readonly ProjectFindings[]): void {
    for (const found of findings) {
      const before = this.#found.get(found.project);
      if (!before && this.#found.size >= mostNamed) {
        if (this.#progress) this.#progress.others += 1;
        continue;
      }
      this.#found.set(found.project, {
        project: found.project,
        inserted: (before?.inserted ?? 0) + found.inserted,
        updated: (before?.updated ?? 0) + found.updated,
        tombstoned: (before?.tombstoned ?? 0) + found.tombstoned,
        rejected: (before?.rejected ?? 0) + found.rejected,
        problem: found.problem ?? before?.problem ?? null,
      });
    }
  }

  #named(progress: Omit<RefreshProgress, 'projects'>): RefreshProgress {
    return { ...progress, projects: [...this.#found.values()] };
  }

  protected async finish(outcome: RunEnd, error: string | null): Promise<RefreshResult> {
    const { projects, others, webhooks } = await runStep(
      'finishRefresh',
      recordOptions,
      `finish the refresh of ${this.#org}: ${outcome}`,
      {
        org: this.#org,
        storeId: this.#progress?.storeId ?? null,
        outcome,
        error,
        startedAt: this.#startedAt,
        finishedAt: Date.now(),
        nextDueAt: this.#nextDueAt,
      },
    );
    this.#progress ??= { storeId: '', ...nothing };
    this.#add(projects);
    this.#progress.others += others;
    this.showEnd(outcome, error ?? '');
    const { storeId: _, ...progress } = this.#named(this.#progress);
    const { workflowId, runId } = workflowInfo();
    const run = { workflowId, runId, org: this.#org };
    const found = progress.projects.filter((one) => one.inserted + one.updated + one.tombstoned > 0);
    if (found.length > 0) {
      const data = { ...run, projects: found.map(({ problem: __, ...counts }) => counts), others: progress.others };
      const timestamp = new Date().toISOString();
      await announce(this.#org, webhooks, { type: 'feedback.refreshed', timestamp, data });
    }
    return { ...run, ...progress, nextDueAt: this.#nextDueAt ?? Date.now() };
  }

  /** Most runs read within a second: only a refused key is shown. */
  protected isSearched(from: RefreshState['phase'], to: RefreshState['phase']): boolean {
    return from === 'unauthorized' || to === 'unauthorized';
  }

  protected show(): void {
    const facts = this.facts();
    if (this.#progress) {
      const { requests, throttled, waitedMs, entries, others } = this.#progress;
      facts.push(['requests', `${requests}, ${throttled} of them refused with 429`]);
      facts.push(['entries', `${entries.seen} seen, ${entries.inserted} new, ${entries.updated} changed`]);
      if (entries.tombstoned > 0) facts.push(['gone', `${entries.tombstoned}`]);
      if (entries.rejected > 0) facts.push(['unreadable entries', `${entries.rejected}, stored in feedback_rejects`]);
      facts.push(['waited for the budget', spanText(waitedMs)]);
      for (const { project, inserted, updated, tombstoned, problem } of this.#found.values()) {
        facts.push([project, problem ?? `${inserted} new, ${updated} changed, ${tombstoned} gone`]);
      }
      if (others > 0) facts.push(['more projects', `${others}`]);
    }
    if (this.#nextDueAt !== null && this.ended) facts.push(['next request due', clockTime(this.#nextDueAt)]);
    facts.push(...ignoredFacts(this.ignored));
    showFacts(`**refresh of ${this.#org}**`, facts);
  }
}
