import { defineWorkflowOptions, makeContinueAsNewFunc, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { refreshStateQuery } from '../contract.ts';
import { addCounts, noEntries } from '../feedback/rules/feedback-entry.ts';
import {
  mostNamed,
  type ProjectFindings,
  type RefreshInput,
  type RefreshProgress,
  type RefreshResult,
  type RefreshState,
  readRefreshInput,
} from '../feedback/rules/refresh-run.ts';
import { clockTime, ignoredFacts, spanText } from '../rules/text.ts';
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

const pages = proxyActivities<Pick<Activities, 'refreshPages'>>(pageOptions);
const records = proxyActivities<Pick<Activities, 'finishRefresh'>>(recordOptions);

/** Reads what is due of an organization's feedback, where most staleness has gathered (S4). */
export async function refreshFeedback(given: RefreshInput): Promise<RefreshResult> {
  const input = readInput(readRefreshInput, given);
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
    const leg = await pages.refreshPages.executeWithOptions(
      { ...pageOptions, summary: `pages of ${this.#org} that are worth most` },
      [{ org: this.#org, storeId: this.#progress?.storeId ?? null }],
    );
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
    const problems = [...this.#found.values()].flatMap(({ project, problem }) =>
      problem === null ? [] : [{ project, problem }],
    );
    const { projects, others, webhooks } = await records.finishRefresh.executeWithOptions(
      { ...recordOptions, summary: `finish the refresh of ${this.#org}: ${outcome}` },
      [
        {
          org: this.#org,
          storeId: this.#progress?.storeId ?? null,
          outcome,
          error,
          startedAt: this.#startedAt,
          finishedAt: Date.now(),
          nextDueAt: this.#nextDueAt,
          problems,
        },
      ],
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
