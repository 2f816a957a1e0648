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
import { permitsFreedSignal, refreshStateQuery } from '../contract.ts';
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
import { clockTime, factsTable, ignoredFacts, spanText } from '../rules/text.ts';
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

const pages = proxyActivities<Pick<Activities, 'refreshPages'>>(pageOptions);
const records = proxyActivities<Pick<Activities, 'finishRefresh'>>(recordOptions);

/** Events of a run before it continues as new. */
const eventsPerRun = 3_000;

/** Reads what is due of an organization's feedback, where most staleness has gathered (S4). */
export async function refreshFeedback(given: RefreshInput): Promise<RefreshResult> {
  const input = readInput(readRefreshInput, given);
  followFailover(input);
  const refresh = new Refresh(input);
  onQuery(refreshStateQuery, () => refresh.state(), 'What the refresh has found, and what it waits for.');
  onSignal(permitsFreedSignal, noInput, {
    take: () => refresh.wakeUp(),
    ignored: () => refresh.ignoredSignal(),
    description: 'Permits came back: ask again now.',
  });
  const done = await refresh.run();
  if (done) return done;
  return await makeContinueAsNewFunc<typeof refreshFeedback>()(nextInput({ ...input, carried: refresh.carried() }));
}
defineWorkflowOptions(refreshFeedback, readsInput);

const nothing = { pages: 0, requests: 0, throttled: 0, waitedMs: 0, entries: noEntries, others: 0 };

type End = 'completed' | 'failed' | 'cancelled';

class Refresh {
  readonly #org: string;
  readonly #startedAt: number;
  readonly #found = new Map<string, ProjectFindings>();
  #progress: Omit<RefreshProgress, 'projects'> | null = null;
  #phase: RefreshState['phase'] = 'starting';
  #waiting: RefreshState['waiting'] = null;
  #end: { outcome: End; reason: string } | null = null;
  #nextDueAt: number | null = null;
  #woken = false;
  #ignored = 0;

  constructor({ org, carried }: RefreshInput) {
    this.#org = org;
    this.#startedAt = carried?.startedAt ?? workflowInfo().startTime.getTime();
    if (!carried) return;
    const { startedAt: _, ignored = 0, projects, ...progress } = carried;
    this.#progress = progress;
    this.#ignored = ignored;
    for (const found of projects) this.#found.set(found.project, found);
  }

  state(): RefreshState {
    const [org, phase, waiting, ignored] = [this.#org, this.#phase, this.#waiting, this.#ignored];
    return { org, phase, waiting, ignored, progress: this.#progress && this.#named(this.#progress) };
  }

  carried() {
    if (!this.#progress) throw new Error('continue-as-new before anything was read');
    const progress = this.#named(this.#progress);
    return { ...progress, startedAt: this.#startedAt, ...(this.#ignored > 0 && { ignored: this.#ignored }) };
  }

  wakeUp(): void {
    this.#woken = true;
  }

  ignoredSignal(): void {
    this.#ignored += 1;
    this.#show();
  }

  /** The result, or null when the run has grown long and should continue as new. */
  async run(): Promise<RefreshResult | null> {
    try {
      if (!(await this.#read())) return null;
      return await this.#finish('completed', null);
    } catch (error) {
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await CancellationScope.nonCancellable(() => this.#recordFailure(error, cancelled));
      throw error;
    }
  }

  /** True when nothing more is due, false when the run should continue as new. */
  async #read(): Promise<boolean> {
    this.#enter('reading');
    for (;;) {
      // A wake-up may overtake the answer that says to wait, so it counts from the question.
      this.#woken = false;
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
      this.#show();
      if (leg.outcome === 'done') return true;
      if (leg.waiting) this.#progress.waitedMs += await this.#waitForBudget(leg.waiting);
      const { continueAsNewSuggested, historyLength } = workflowInfo();
      if (continueAsNewSuggested || historyLength >= eventsPerRun) return false;
    }
  }

  /** Waits on a durable timer that the budget can cut short; returns the milliseconds waited. */
  async #waitForBudget(waiting: NonNullable<RefreshState['waiting']>): Promise<number> {
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

  async #finish(outcome: End, error: string | null): Promise<RefreshResult> {
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
    this.#showEnd(outcome, error ?? '');
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

  /** The workflow ends with the run's own failure, even if its row cannot be written. */
  async #recordFailure(error: unknown, cancelled: boolean): Promise<void> {
    const outcome = cancelled ? 'cancelled' : 'failed';
    const reason = failureSummary(error);
    try {
      await this.#finish(outcome, reason);
    } catch (failure) {
      log.error('the row of the refresh could not be written', { failure: failureSummary(failure) });
    }
    if (!this.#end) this.#showEnd(outcome, reason);
  }

  #showEnd(outcome: End, reason: string): void {
    this.#end = { outcome, reason };
    this.#phase = 'done';
    this.#waiting = null;
    showEnd(outcome);
    this.#show();
  }

  #enter(phase: RefreshState['phase']): void {
    if (phase === this.#phase) return;
    // Each change of a search attribute costs an event, and most runs read within a second: only a refused key is shown.
    if (phase === 'unauthorized' || this.#phase === 'unauthorized') showPhase(phase);
    this.#phase = phase;
    this.#show();
  }

  #show(): void {
    const facts: [string, string][] = this.#end ? endFacts(this.#end) : [['phase', this.#phase]];
    if (this.#waiting) {
      const { until, place, behind, reason } = this.#waiting;
      const queue = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
      facts.push(['waiting until', `${clockTime(until)}, place ${place}${queue}`], ['why', waitText[reason]]);
    }
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
    if (this.#nextDueAt !== null && this.#end) facts.push(['next request due', clockTime(this.#nextDueAt)]);
    facts.push(...ignoredFacts(this.#ignored));
    setCurrentDetails(`**refresh of ${this.#org}**\n\n${factsTable(facts)}`);
  }
}
