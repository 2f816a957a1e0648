import {
  CancellationScope,
  condition,
  defineWorkflowOptions,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { waitText } from '../budget/rules/window-view.ts';
import { permitsFreedSignal, syncStateQuery } from '../contract.ts';
import { noEntries } from '../feedback/rules/feedback-entry.ts';
import type { CarriedSync, SyncInput, SyncProgress, SyncResult, SyncState } from '../feedback/rules/sync.ts';
import { readSyncInput } from '../feedback/rules/sync.ts';
import { clockTime, factsTable, forecastText, ignoredFacts, spanText } from '../rules/text.ts';
import {
  endFacts,
  failureSummary,
  followFailover,
  nextInput,
  noInput,
  onQuery,
  onSignal,
  pageOptions,
  readInput,
  readsInput,
  recordOptions,
  showEnd,
  showPhase,
} from './kit.ts';
import { announce } from './runs.ts';

const records = proxyActivities<Pick<Activities, 'beginPass' | 'finishPass'>>(recordOptions);

const pages = proxyActivities<Pick<Activities, 'fetchPages'>>(pageOptions);

/** Events of a run before it continues as new, well below 4,096, at which the server suggests it. */
const eventsPerRun = 3_000;

/** Reads a project's feedback into the store in one pass, lease by lease (S1 to S3). */
export async function syncFeedback(given: SyncInput): Promise<SyncResult> {
  const input = readInput(readSyncInput, given);
  followFailover(input);
  const sync = new Sync(input);
  onQuery(syncStateQuery, () => sync.state(), 'Progress of the pass, and what it waits for.');
  onSignal(permitsFreedSignal, noInput, {
    take: () => sync.wakeUp(),
    ignored: () => sync.ignoredSignal(),
    description: 'Permits came back: ask again now.',
  });
  const done = await sync.run();
  if (!done)
    return await makeContinueAsNewFunc<typeof syncFeedback>()(nextInput({ ...input, carried: sync.carried() }));
  return done;
}
defineWorkflowOptions(syncFeedback, readsInput);

type PassEnd = 'completed' | 'failed' | 'cancelled';

class Sync {
  readonly #input: SyncInput;
  #phase: SyncState['phase'] = 'starting';
  #progress: SyncProgress | null = null;
  #waiting: SyncState['waiting'] = null;
  #forecast: SyncState['forecast'] = null;
  #end: { outcome: PassEnd; reason: string } | null = null;
  #woken = false;
  #tries = 0;
  #ignored = 0;

  constructor(input: SyncInput) {
    this.#input = input;
    if (!input.carried) return;
    const { tries, ignored = 0, ...progress } = input.carried;
    this.#progress = progress;
    this.#ignored = ignored;
    this.#tries = tries;
  }

  state(): SyncState {
    const { org, project, pass } = this.#input;
    const [phase, progress, waiting] = [this.#phase, this.#progress, this.#waiting];
    return { org, project, pass, phase, progress, waiting, forecast: this.#forecast, ignored: this.#ignored };
  }

  wakeUp(): void {
    this.#woken = true;
  }

  carried(): CarriedSync {
    if (!this.#progress) throw new Error('continue-as-new before the pass began');
    return { ...this.#progress, tries: this.#tries, ...(this.#ignored > 0 && { ignored: this.#ignored }) };
  }

  ignoredSignal(): void {
    this.#ignored += 1;
    this.#show();
  }

  /** The result, or null when the run has grown long and should continue as new. */
  async run(): Promise<SyncResult | null> {
    try {
      // Cancelled meanwhile, the pass still gets its row, which its end closes (X4).
      const progress = this.#progress ?? (await CancellationScope.nonCancellable(() => this.#begin()));
      if (!(await this.#read(progress))) return null;
      return await this.#finish(progress, 'completed', null);
    } catch (error) {
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await CancellationScope.nonCancellable(() => this.#recordFailure(error, cancelled));
      throw error;
    }
  }

  async #begin(): Promise<SyncProgress> {
    const { org, project, pass, from, to } = this.#input;
    const passId = workflowInfo().firstExecutionRunId;
    const { storeId } = await records.beginPass.executeWithOptions(
      { ...recordOptions, summary: `begin ${pass} of ${project}` },
      [
        {
          org,
          project,
          pass,
          passId,
          startedAt: workflowInfo().startTime.getTime(),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        },
      ],
    );
    const nothing = { pages: 0, requests: 0, throttled: 0, waitedMs: 0, entries: noEntries };
    this.#progress = { passId, storeId, ...nothing };
    return this.#progress;
  }

  /** True when the pass is complete, false when the run should continue as new. */
  async #read(progress: SyncProgress): Promise<boolean> {
    const { org, project } = this.#input;
    this.#enter('reading');
    for (;;) {
      // A wake-up may overtake the answer that says to wait, so it counts from the question.
      this.#woken = false;
      const { passId, storeId } = progress;
      const leg = await pages.fetchPages.executeWithOptions(
        { ...pageOptions, summary: `pages of ${project} from ${progress.pages + 1}` },
        [{ org, project, passId, storeId, tries: this.#tries }],
      );
      // From the first lease in a restored store on, the original can no longer take part.
      if (leg.storeId !== undefined) progress.storeId = leg.storeId;
      progress.pages = leg.pages;
      progress.entries = leg.entries;
      progress.requests = leg.requests;
      progress.throttled = leg.throttled;
      this.#tries = leg.tries;
      this.#forecast = leg.forecast;
      this.#show();
      if (leg.outcome === 'complete') return true;
      if (leg.waiting) progress.waitedMs += await this.#waitForBudget(leg.waiting);
      const { continueAsNewSuggested, historyLength } = workflowInfo();
      if (continueAsNewSuggested || historyLength >= eventsPerRun) return false;
    }
  }

  /** Waits on a durable timer that the budget can cut short; returns the milliseconds waited. */
  async #waitForBudget(waiting: NonNullable<SyncState['waiting']>): Promise<number> {
    const since = Date.now();
    this.#waiting = waiting;
    this.#enter(waiting.reason === 'unauthorized' ? 'unauthorized' : 'waiting-for-budget');
    const summary =
      waiting.reason === 'unauthorized'
        ? `key refused (401), next try at ${clockTime(waiting.until)}`
        : `budget free at ${clockTime(waiting.until)}, place ${waiting.place}`;
    await condition(() => this.#woken, Math.max(1, waiting.until - since), { summary });
    this.#waiting = null;
    this.#enter('reading');
    return Date.now() - since;
  }

  async #finish(progress: SyncProgress, outcome: PassEnd, error: string | null): Promise<SyncResult> {
    const { org, project, pass } = this.#input;
    const { watermark, verifiedUpTo, webhooks, ...totals } = await records.finishPass.executeWithOptions(
      { ...recordOptions, summary: `finish ${pass} of ${project}: ${outcome}` },
      [{ ...progress, org, project, outcome, error, finishedAt: Date.now() }],
    );
    this.#progress = { ...progress, ...totals };
    this.#showEnd(outcome, error ?? '');
    const { passId: _passId, storeId: _storeId, ...counts } = this.#progress;
    const { workflowId, runId } = workflowInfo();
    const result = { workflowId, runId, org, project, pass, ...counts, watermark, verifiedUpTo };
    const { waitedMs: _waitedMs, ...published } = result;
    const timestamp = new Date().toISOString();
    await announce(org, webhooks, { type: 'feedback.pass.finished', timestamp, data: { ...published, outcome } });
    return result;
  }

  /** The workflow ends with the pass's own failure, even if its row cannot be closed. */
  async #recordFailure(error: unknown, cancelled: boolean): Promise<void> {
    const outcome = cancelled ? 'cancelled' : 'failed';
    const reason = failureSummary(error);
    try {
      if (this.#progress) await this.#finish(this.#progress, outcome, reason);
    } catch (failure) {
      log.error('the row of the pass could not be closed', { failure: failureSummary(failure) });
    }
    if (!this.#end) this.#showEnd(outcome, reason);
  }

  #showEnd(outcome: PassEnd, reason: string): void {
    this.#end = { outcome, reason };
    this.#phase = 'done';
    this.#waiting = null;
    this.#forecast = null;
    showEnd(outcome);
    this.#show();
  }

  #enter(phase: SyncState['phase']): void {
    if (phase === this.#phase) return;
    // Each change of a search attribute costs an event, and waits come with every window: they are left out.
    if (phase !== 'waiting-for-budget' && this.#phase !== 'waiting-for-budget') showPhase(phase);
    this.#phase = phase;
    this.#show();
  }

  #show(): void {
    const { project, pass, org } = this.#input;
    const facts: [string, string][] = this.#end ? endFacts(this.#end) : [['phase', this.#phase]];
    if (this.#waiting) {
      const { until, place, behind, reason } = this.#waiting;
      const queue = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
      facts.push(['waiting until', `${clockTime(until)}, place ${place}${queue}`], ['why', waitText[reason]]);
    }
    if (this.#forecast && this.#waiting?.reason !== 'paused') {
      facts.push(['expected end', forecastText(this.#forecast, Date.now())]);
    }
    if (this.#progress) {
      const { pages: read, requests, throttled, waitedMs, entries } = this.#progress;
      facts.push(['pages', `${read} (${requests} requests, ${throttled} of them refused with 429)`]);
      facts.push(['entries', `${entries.seen} seen, ${entries.inserted} new, ${entries.updated} changed`]);
      if (entries.rejected > 0) facts.push(['unreadable entries', `${entries.rejected}, stored in feedback_rejects`]);
      facts.push(['waited for the budget', spanText(waitedMs)]);
    }
    facts.push(...ignoredFacts(this.#ignored));
    setCurrentDetails(`**${pass} of ${project}** (${org})\n\n${factsTable(facts)}`);
  }
}
