import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, log } from '@temporalio/activity';
import type { PassPosition, PassRow } from '../feedback/feedback-store.ts';
import { RepeatedCursor, StalePosition } from '../feedback/feedback-store.ts';
import type { EntryCounts } from '../model/cargo.ts';
import { maxLease, type PermitAnswer, type PermitAsk, type PermitClass } from '../model/permits.ts';
import type { FeedbackPage } from '../service/documentation-service.ts';
import { MalformedResponse, NetworkError, RateLimited, ServerError, ServiceError } from '../service/errors.ts';
import { type ActivityDependencies, organizationOf, requireStore } from './dependencies.ts';
import { permanent, transient } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';
import { instant, Lease, LeaseOver, questionId } from './permits.ts';
import { serviceFailure } from './service-failures.ts';

export interface FetchPagesInput {
  org: string;
  project: string;
  class: PermitClass;
  passId: string;
  storeId: string;
  /** Failed tries of the page that comes next, from the lease before. */
  tries: number;
}

export interface FetchPagesResult {
  outcome: 'more' | 'complete' | 'waiting';
  /** Totals of the pass, from the store. */
  pages: number;
  requests: number;
  throttled: number;
  entries: EntryCounts;
  /** Failed tries of the page that comes next. */
  tries: number;
  waiting: { until: number; place: number; behind: string[] } | null;
}

const pageSize = 100;
/** A page that came broken is asked for once more, soon: two requests at most are wasted (DESIGN S3). */
const triesOfAPage = 2;
const pauseBeforeRetryMs = 500;

export const createPageActivities = (deps: ActivityDependencies) => ({
  /**
   * Reads pages of a pass with one lease of the budget and commits each with the position after it (DESIGN S2).
   * Waiting for the budget is a normal result. A new attempt asks for a lease of its own; the old one stays charged.
   */
  async fetchPages(input: FetchPagesInput): Promise<FetchPagesResult> {
    requireStore('feedback', input.storeId, deps.feedback.identity);
    const progress = { pages: 0 };
    return withHeartbeats(
      () => progress,
      (signal) => new LeaseOfPages(deps, input, progress, signal).read(),
    );
  },
});

/** One run of `fetchPages`. */
class LeaseOfPages {
  readonly #deps: ActivityDependencies;
  readonly #input: FetchPagesInput;
  readonly #progress: { pages: number };
  readonly #signal: AbortSignal;
  #row: PassRow | null = null;
  /** Requests sent and not yet counted in the store. */
  #uncounted = 0;
  #failures = 0;
  #tries: number;

  constructor(deps: ActivityDependencies, input: FetchPagesInput, progress: { pages: number }, signal: AbortSignal) {
    this.#deps = deps;
    this.#input = input;
    this.#progress = progress;
    this.#signal = signal;
    this.#tries = input.tries;
  }

  async read(): Promise<FetchPagesResult> {
    let row = await this.#reload();
    if (row.position.complete) return this.#result('complete');
    const lease = await this.#ask();
    if (!(lease instanceof Lease)) return this.#result('waiting', lease);
    let throttled: { retryAfterMs: number | null } | undefined;
    try {
      while (!row.position.complete && Number.isFinite(lease.untilNext())) {
        await sleep(Math.ceil(lease.untilNext()), undefined, { signal: this.#signal });
        const page = await this.#fetch(lease, row);
        if (page) row = await this.#commit(row.position, page);
      }
    } catch (error) {
      if (!(error instanceof RateLimited)) throw serviceFailure(error);
      throttled = { retryAfterMs: error.retryAfterMs };
    } finally {
      await this.#settle(lease, throttled);
      if (this.#uncounted > 0) row = await this.#countRequests(row, throttled ? 1 : 0);
    }
    if (throttled) return this.#waitAfterThrottle();
    return this.#result(row.position.complete ? 'complete' : 'more');
  }

  async #reload(): Promise<PassRow> {
    const row = await this.#deps.feedback.getPass(this.#input.passId);
    if (!row) throw permanent('InvalidInput', 'the store has no row of this pass: was the database replaced?');
    if (row.outcome !== 'running') throw permanent('InvalidInput', `this pass has ended already (${row.outcome})`);
    this.#row = row;
    this.#progress.pages = row.pages;
    return row;
  }

  /** Requests that led to no page are part of what the pass cost; a worker that dies loses count of one at most. */
  async #countRequests(row: PassRow, throttled: number): Promise<PassRow> {
    try {
      const spent = { requests: this.#uncounted, throttled };
      this.#row = await this.#deps.feedback.countRequests(this.#input.passId, spent);
      this.#uncounted = 0;
      return this.#row;
    } catch (error) {
      // What ended the lease matters more than its count.
      log.warn('requests could not be counted', { error: error instanceof Error ? error.name : 'unknown' });
      return row;
    }
  }

  async #ask(): Promise<Lease | { until: number; place: number; behind: string[] }> {
    const info = activityInfo();
    const { workflowId = '' } = info.workflowExecution ?? {};
    const askedAt = instant();
    const answer = await this.#askOnce({
      id: questionId(),
      holder: workflowId,
      class: this.#input.class,
      wants: maxLease,
      attemptAt: info.currentAttemptScheduledTimestampMs,
    });
    if (answer.kind === 'superseded') throw transient('Superseded', 'a newer attempt of this activity is at work');
    if (answer.kind === 'granted') return new Lease(answer, askedAt, instant());
    return { until: answer.waitUntil, place: answer.place, behind: answer.behind };
  }

  /** An answer that is lost on the way may be a lease: it is given back unused, so that it holds no slots to its end. */
  async #askOnce(question: PermitAsk): Promise<PermitAnswer> {
    const { permits } = this.#deps;
    try {
      return await permits.ask(this.#input.org, question);
    } catch (error) {
      await permits.report(this.#input.org, { leaseId: question.id, arrived: [] }).catch(() => {});
      throw error;
    }
  }

  /** One request. Null when nothing was read: the lease is over, or the page came broken and is worth another try. */
  async #fetch(lease: Lease, row: PassRow): Promise<FeedbackPage | null> {
    const { cursor } = row.position;
    try {
      const page = await organizationOf(this.#deps, this.#input.org).service.getFeedbackPage(
        this.#input.project,
        {
          limit: pageSize,
          ...(row.dateFrom === null ? {} : { dateFrom: row.dateFrom }),
          ...(row.dateTo === null ? {} : { dateTo: row.dateTo }),
          ...(cursor === null ? {} : { cursor }),
        },
        {
          signal: this.#signal,
          beforeSend: () => {
            lease.take();
            this.#uncounted += 1;
          },
        },
      );
      lease.answered();
      if (page.hasMore && page.nextCursor === null) {
        return await this.#broken('the service said that more follows, but gave no cursor');
      }
      return page;
    } catch (error) {
      if (error instanceof LeaseOver) return null;
      if (isAnswer(error)) lease.answered();
      if (error instanceof MalformedResponse) return this.#broken(error.message);
      if (error instanceof ServerError || error instanceof NetworkError) return this.#onceMore(error);
      throw error;
    }
  }

  async #commit(from: PassPosition, page: FeedbackPage): Promise<PassRow> {
    try {
      await this.#deps.feedback.commitPage({
        passId: this.#input.passId,
        from,
        entries: page.entries,
        rejected: page.rejected,
        nextCursor: page.nextCursor,
        hasMore: page.hasMore,
        requests: this.#uncounted,
        seenAt: new Date(),
      });
      this.#uncounted = 0;
      this.#tries = 0;
      this.#failures = 0;
    } catch (error) {
      if (error instanceof RepeatedCursor) await this.#broken('the service gave a cursor that it had given before');
      else if (!(error instanceof StalePosition)) throw error;
    }
    return this.#reload();
  }

  /** Counts a broken page and waits a little; the second time the pass fails, naming the page. */
  async #broken(reason: string): Promise<null> {
    this.#tries += 1;
    if (this.#tries >= triesOfAPage) {
      const page = (this.#row?.position.page ?? 0) + 1;
      throw permanent('BadPage', `page ${page} of project ${this.#input.project} cannot be read: ${reason}`);
    }
    await sleep(pauseBeforeRetryMs, undefined, { signal: this.#signal });
    return null;
  }

  /** A failure that may pass is tried once more here, with a permit of its own; after that Temporal tries again. */
  async #onceMore(error: ServerError | NetworkError): Promise<null> {
    this.#failures += 1;
    if (this.#failures >= triesOfAPage || activityInfo().attempt > 1) throw error;
    await sleep(pauseBeforeRetryMs, undefined, { signal: this.#signal });
    return null;
  }

  async #waitAfterThrottle(): Promise<FetchPagesResult> {
    const again = await this.#ask();
    if (!(again instanceof Lease)) return this.#result('waiting', again);
    await this.#settle(again);
    return this.#result('more');
  }

  /** A lost report costs time, never the promise: unreported permits count as sent. */
  async #settle(lease: Lease, throttled?: { retryAfterMs: number | null }): Promise<void> {
    try {
      await this.#deps.permits.report(this.#input.org, lease.settlement(throttled));
    } catch (error) {
      log.warn('the budget could not be told what became of a lease; its permits count as sent', {
        error: error instanceof Error ? error.name : 'unknown',
      });
    }
  }

  #result(outcome: FetchPagesResult['outcome'], waiting: FetchPagesResult['waiting'] = null): FetchPagesResult {
    if (!this.#row) throw new Error('a result before the pass was read');
    const { pages, requests, throttled, entries } = this.#row;
    return { outcome, pages, requests, throttled, entries, tries: this.#tries, waiting };
  }
}

/** Whether the service answered: then the request has arrived. Lost and aborted ones may still be on their way. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ServiceError && error.kind !== 'NetworkError' && error.kind !== 'Aborted';
}
