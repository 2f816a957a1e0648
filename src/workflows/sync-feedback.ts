import {
  CancellationScope,
  defineWorkflowOptions,
  makeContinueAsNewFunc,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { syncStateQuery } from '../contract.ts';
import { noEntries } from '../feedback/rules/feedback-entry.ts';
import type { CarriedSync, SyncInput, SyncProgress, SyncResult, SyncState } from '../feedback/rules/sync.ts';
import { readSyncInput } from '../feedback/rules/sync.ts';
import { forecastText, ignoredFacts, spanText } from '../rules/text.ts';
import { FeedbackRun, type RunEnd } from './feedback-run.ts';
import {
  followFailover,
  nextInput,
  onQuery,
  pageOptions,
  readInput,
  readsInput,
  recordOptions,
  showFacts,
} from './kit.ts';
import { announce } from './runs.ts';

const records = proxyActivities<Pick<Activities, 'beginPass' | 'finishPass'>>(recordOptions);

const pages = proxyActivities<Pick<Activities, 'fetchPages'>>(pageOptions);

/** Reads a project's feedback into the store in one pass, lease by lease (S1 to S3). */
export async function syncFeedback(given: SyncInput): Promise<SyncResult> {
  const input = readInput(readSyncInput, given);
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
      const { storeId } = await records.beginPass.executeWithOptions(
        { ...recordOptions, summary: `begin ${asked.pass} of ${asked.project}` },
        [{ ...asked, passId, startedAt: startTime.getTime() }],
      );
      this.#progress = { passId, storeId, pages: 0, requests: 0, throttled: 0, waitedMs: 0, entries: noEntries };
    });
  }

  protected async readLeg() {
    const { org, project } = this.#input;
    const progress = this.#begun();
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
    return { isLast: leg.outcome === 'complete', waiting: leg.waiting };
  }

  protected addWait(ms: number): void {
    this.#begun().waitedMs += ms;
  }

  protected async finish(outcome: RunEnd, error: string | null): Promise<SyncResult> {
    const { org, project, pass } = this.#input;
    const progress = this.#begun();
    const { watermark, verifiedUpTo, webhooks, ...totals } = await records.finishPass.executeWithOptions(
      { ...recordOptions, summary: `finish ${pass} of ${project}: ${outcome}` },
      [{ ...progress, org, project, outcome, error, finishedAt: Date.now() }],
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
