import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, log } from '@temporalio/activity';
import { Lease, LeaseOver, type SentRequest } from '../budget/lease.ts';
import { maxLease, type PermitWait } from '../budget/rules/permits.ts';
import { type PageUpsert, type PassRow, StalePosition } from '../feedback/reading/passes.ts';
import { digestOfIds } from '../feedback/reading/upsert-page.ts';
import type { EntryCounts } from '../feedback/rules/feedback-entry.ts';
import {
  CannotResume,
  GapInDates,
  type PassSlice,
  pageSize,
  RepeatedCursor,
  type SliceQuery,
} from '../feedback/rules/slice.ts';
import type { SyncState } from '../feedback/rules/sync.ts';
import type { DocumentationService } from '../service/client.ts';
import type { FeedbackPage, FeedbackQuery } from '../service/documentation-service.ts';
import { BadRequest, MalformedResponse, NetworkError, ServerError, ServiceError } from '../service/errors.ts';
import {
  type ActivityDependencies,
  nameOf,
  organizationOf,
  permanent,
  requireStore,
  scheduledAt,
  serviceFailure,
} from './dependencies.ts';
import { withHeartbeats } from './heartbeats.ts';
import { isAnswer, type LeaseRequest, refusalOf, requestLease, useLease, waitFor, waitingOf } from './leases.ts';

/*
 * Waits before a page is requested again; after the last of them the pass gives it up (S3). They are short enough for the
 * activity's five minutes, and no lease is held meanwhile.
 */

/** An unreadable answer may be a gateway's or a deployment's: it is given about 20 s to pass. */
const unreadable = [500, 1_500, 5_000, 13_000];
/** A page that leads in a cycle does so every time. */
const misleading = [500];

/** A failure that leaves open what the service would say is retried once under the same lease. */
const pauseAfterFailureMs = 500;

/** A page that cannot be read, however often it is requested. The message says why, without content. */
class BrokenPage extends Error {
  override readonly name = 'BrokenPage';
}

/** Whether an unreadable answer is worth several requests, or one more. */
type Patience = 'patient' | 'hasty';

/** Requests pages under a lease, one at a time, and decides which failures are worth another request. */
export class PageReader {
  readonly #service: DocumentationService;
  readonly #project: string;
  readonly #signal: AbortSignal;
  #failures = 0;
  #tries: number;
  #failure: Error | null = null;
  #pauseMs = 0;
  /** By the budget's clock: proofs of several workers are compared (S4, decisions/0049). */
  #requests = { uncounted: 0, askedAt: scheduledAt(), seenAt: scheduledAt() };

  /** `tries`: failed tries of the next page, from the run before. */
  constructor(service: DocumentationService, project: string, signal: AbortSignal, tries: number) {
    this.#service = service;
    this.#project = project;
    this.#signal = signal;
    this.#tries = tries;
  }

  /** Failed tries of the next page. */
  get tries(): number {
    return this.#tries;
  }

  /** Why the last request brought no page, if another try may; null else. */
  get failure(): Error | null {
    return this.#failure;
  }

  /**
   * The requests that the store has not counted yet; just before the last of all, and when the last page had come: until
   * the first one, not before what earlier runs have seen.
   */
  get requests(): Readonly<{ uncounted: number; askedAt: Date; seenAt: Date }> {
    return this.#requests;
  }

  /** Call when the store has counted the requests. */
  counted(): void {
    this.#requests.uncounted = 0;
  }

  /** Whether the page was broken and `pause` comes before its next request. */
  get mustPause(): boolean {
    return this.#pauseMs > 0;
  }

  /** Call for a good page: the next one has all its tries. */
  succeeded(): void {
    this.#tries = 0;
    this.#failures = 0;
    this.#failure = null;
  }

  async pause(): Promise<void> {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = 0;
    await sleep(pauseMs, undefined, { signal: this.#signal });
  }

  /**
   * Sends one request. Null when nothing was read: the lease is over, or the page was broken and is worth another try.
   * Throws `BrokenPage` when it is not, and everything else that the service throws.
   */
  async fetch(lease: Lease, slice: SliceQuery, cursor: string | null, how: Patience): Promise<FeedbackPage | null> {
    let sent: SentRequest | undefined;
    try {
      this.#requests.askedAt = lease.now();
      const page = await this.#service.getFeedbackPage(this.#project, queryOf(slice, cursor), {
        signal: this.#signal,
        beforeSend: () => {
          sent = lease.take();
          this.#requests.uncounted += 1;
        },
        afterWrite: () => sent?.written(),
      });
      sent?.answered();
      this.#requests.seenAt = lease.now();
      return page;
    } catch (error) {
      if (error instanceof LeaseOver) return null;
      if (isAnswer(error)) sent?.answered(refusalOf(error) ? 'refused' : 'accepted');
      if (error instanceof MalformedResponse)
        return this.#tryAgain(error.message, how === 'patient' ? unreadable : misleading);
      if (error instanceof ServerError || error instanceof NetworkError) return this.#retry(error);
      throw error;
    }
  }

  /** For a page that can be read, but not followed; throws `BrokenPage` the second time. */
  retryMisleading(reason: string): null {
    return this.#tryAgain(reason, misleading);
  }

  #tryAgain(reason: string, pauses: readonly number[]): null {
    const pauseMs = pauses[this.#tries];
    this.#failure = new BrokenPage(reason);
    if (pauseMs === undefined) throw this.#failure;
    this.#tries += 1;
    this.#pauseMs = pauseMs;
    return null;
  }

  /** A failure that may pass is retried once here, with another permit; after that Temporal retries. */
  async #retry(error: ServerError | NetworkError): Promise<null> {
    this.#failures += 1;
    this.#failure = error;
    if (this.#failures > 1 || activityInfo().attempt > 1) throw error;
    await sleep(pauseAfterFailureMs, undefined, { signal: this.#signal });
    return null;
  }
}

function queryOf({ dateFrom, dateTo, source, statuses }: SliceQuery, cursor: string | null): FeedbackQuery {
  return {
    limit: pageSize,
    ...(dateFrom === null ? {} : { dateFrom }),
    ...(dateTo === null ? {} : { dateTo }),
    ...(source === null ? {} : { source }),
    ...(statuses === null ? {} : { status: statuses }),
    ...(cursor === null ? {} : { cursor }),
  };
}

/** No further lease after this time: with the last one a run must end well within the activity's five minutes. */
const furtherLeasesMs = 120_000;

export interface FetchPagesInput {
  org: string;
  project: string;
  passId: string;
  storeId: string;
  /** Failed tries of the next page, from the run before. */
  tries: number;
}

export interface FetchPagesResult {
  /** The store read into: a successor of the pass's own takes its place. */
  storeId?: string;
  outcome: 'more' | 'complete' | 'waiting';
  pages: number;
  requests: number;
  throttled: number;
  entries: EntryCounts;
  /** Failed tries of the next page. */
  tries: number;
  waiting: SyncState['waiting'];
  /** When the budget expects the pass to be done; null if unknown. */
  forecast: SyncState['forecast'];
}

export const createPageActivities = (deps: ActivityDependencies) => ({
  /**
   * Reads pages of a pass under leases of the budget and stores each with the position after it (S2). Waiting for the
   * budget is a normal result. A new attempt requests a new lease; that of the old one stays charged.
   */
  async fetchPages(input: FetchPagesInput): Promise<FetchPagesResult> {
    requireStore('feedback', input.storeId, deps.feedback);
    const progress = { pages: 0 };
    return withHeartbeats(
      () => progress,
      (signal) => new FetchPagesRun(deps, input, progress, signal).run(),
    );
  },
});

/** A pass that reads pages: chooses the next request, and stores or rejects the answer. */
export class PassReading {
  readonly reader: PageReader;
  readonly #deps: ActivityDependencies;
  readonly #passId: string;
  readonly #onCounts: (before: PassRow, after: PassRow) => void;
  #row: PassRow | null = null;
  slice: PassSlice | null = null;
  /** Entries that the last answer showed to be missing from a page of the refresh, if a person must know. */
  massMissing: number | null = null;

  /** Calls `onCounts` after each change of the pass's row. */
  constructor(
    deps: ActivityDependencies,
    { org, project, passId, tries }: { org: string; project: string; passId: string; tries: number },
    signal: AbortSignal,
    onCounts: (before: PassRow, after: PassRow) => void = () => {},
  ) {
    this.#deps = deps;
    this.#passId = passId;
    this.#onCounts = onCounts;
    this.reader = new PageReader(organizationOf(deps, org).service, project, signal, tries);
  }

  get row(): PassRow {
    if (!this.#row) throw new Error('a row before the pass was read');
    return this.#row;
  }

  async reload(): Promise<PassRow> {
    const row = await this.#deps.feedback.getPass(this.#passId);
    if (!row) throw permanent('InvalidInput', 'the store has no row of this pass: was the database replaced?');
    // Its run was reset after its end.
    if (row.outcome !== 'running') {
      throw permanent('InvalidInput', `this pass has ended already (${row.outcome}): start another`);
    }
    if (this.#row) {
      countEntries(this.#deps, row.org, this.#row.entries, row.entries);
      this.#onCounts(this.#row, row);
    }
    this.#row = row;
    this.slice = await this.#deps.feedback.currentSlice(this.#passId);
    return row;
  }

  async sendRequest(lease: Lease): Promise<PassRow> {
    this.massMissing = null;
    const slice = this.slice;
    const row = this.row;
    if (!slice) throw new Error('a pass that is not complete has a slice to read');
    if (slice.outcome === 'checking') return this.#check(lease, row, slice);
    const { cursor } = row.position;
    try {
      const page = await this.reader.fetch(lease, slice, cursor, 'patient');
      return page ? await this.#storeOrRetry(row, page) : await this.reload();
    } catch (error) {
      if (error instanceof BrokenPage) throw await this.#badPageFailure(error);
      if (!(error instanceof BadRequest) || cursor === null) throw error;
      return this.#resumeByDate(cursor);
    }
  }

  /** The cursor is dead: the service refused it, or the query it was made for. */
  async #resumeByDate(cursor: string): Promise<PassRow> {
    try {
      await this.#deps.feedback.cutSlice(this.#passId, cursor);
    } catch (error) {
      if (error instanceof CannotResume) throw permanent('OutOfReach', `${error.message} (${this.#whatIsStored()})`);
      throw error;
    }
    this.reader.succeeded();
    return this.reload();
  }

  /** Requests the last page of a slice again: no page has shifted if it is unchanged. */
  async #check(lease: Lease, row: PassRow, slice: PassSlice): Promise<PassRow> {
    try {
      const page = await this.reader.fetch(lease, slice, slice.lastCursor, 'hasty');
      if (!page) return await this.reload();
      this.reader.succeeded();
      const isSame = !page.hasMore && digestOfIds(page) === slice.lastDigest;
      await this.#store(row, page, { rowsOnly: true, isCheck: true });
      return await this.endCheck(isSame);
    } catch (error) {
      // A check is worth one request; but a refusal or a cancellation is for the whole pass.
      const isOver = error instanceof BrokenPage || (error instanceof ServiceError && error.name !== 'Aborted');
      if (!isOver || refusalOf(error)) throw error;
      this.reader.succeeded();
      return this.endCheck(false);
    }
  }

  async endCheck(same: boolean | null): Promise<PassRow> {
    if (this.slice?.outcome !== 'checking') return this.row;
    await this.#deps.feedback.endCheck(this.#passId, same, this.reader.requests.seenAt);
    return this.reload();
  }

  /** Requests that led to no page are part of the pass's cost; a worker that dies loses count of one at most. */
  async countRequests(throttled: number): Promise<void> {
    const { uncounted } = this.reader.requests;
    if (uncounted === 0) return;
    try {
      const spent = { requests: uncounted, throttled };
      const before = this.row;
      this.#row = await this.#deps.feedback.countRequests(this.#passId, spent);
      this.#onCounts(before, this.#row);
      this.reader.counted();
    } catch (error) {
      // The error that ended the lease matters more than this count.
      log.warn('requests could not be counted', { error: nameOf(error) });
    }
  }

  /** Throws while the store takes no writes, as on a full disk: a page that cannot be stored would waste its permit. */
  async requireWritable(): Promise<void> {
    this.#row = await this.#deps.feedback.countRequests(this.#passId, { requests: 0, throttled: 0 });
  }

  /** Stores a page. If the pass cannot continue from it, requests it again, then stores only its rows. */
  async #storeOrRetry(row: PassRow, page: FeedbackPage): Promise<PassRow> {
    try {
      const reason = await this.#tryToStore(row, page);
      if (reason === null) this.reader.succeeded();
      else this.reader.retryMisleading(reason);
    } catch (error) {
      if (error instanceof BrokenPage) await this.#store(row, page, { rowsOnly: true });
      throw error;
    }
    return this.reload();
  }

  /** Stores a page, or returns why the pass cannot continue from it. */
  async #tryToStore(row: PassRow, page: FeedbackPage): Promise<string | null> {
    if (page.hasMore && page.nextCursor === null) return 'the service said that more follows, but gave no cursor';
    try {
      await this.#store(row, page, { mayCheck: true });
    } catch (error) {
      if (error instanceof RepeatedCursor || error instanceof GapInDates) return error.message;
      if (!(error instanceof StalePosition)) throw error;
    }
    return null;
  }

  async #store(
    row: PassRow,
    page: FeedbackPage,
    how: Pick<PageUpsert, 'rowsOnly' | 'isCheck' | 'mayCheck'>,
  ): Promise<void> {
    const { uncounted: requests, askedAt, seenAt } = this.reader.requests;
    const from = row.position;
    const stored = await this.#deps.feedback.upsertPage({
      passId: this.#passId,
      from,
      ...page,
      ...how,
      requests,
      askedAt,
      seenAt,
    });
    this.massMissing = stored.massMissing;
    this.reader.counted();
  }

  /** Why the last request brought no page, if another try may; null else. */
  async failure(): Promise<Error | null> {
    const { failure } = this.reader;
    return failure instanceof BrokenPage ? this.#badPageFailure(failure) : failure;
  }

  async #badPageFailure({ message }: BrokenPage): Promise<Error> {
    const { position, project } = await this.reload();
    const page = `page ${position.page + 1} of project ${project}`;
    return permanent('BadPage', `${page} cannot be read: ${message} (${this.#whatIsStored()})`);
  }

  /** For the message of a pass that fails. */
  #whatIsStored(): string {
    const seen = this.#row?.entries.seen ?? 0;
    return `${seen} entries of this pass are stored, what follows them is missing`;
  }
}

class FetchPagesRun {
  readonly #deps: ActivityDependencies;
  readonly #input: FetchPagesInput;
  readonly #progress: { pages: number };
  readonly #signal: AbortSignal;
  readonly #reading: PassReading;
  #forecast: FetchPagesResult['forecast'] = null;

  constructor(deps: ActivityDependencies, input: FetchPagesInput, progress: { pages: number }, signal: AbortSignal) {
    this.#deps = deps;
    this.#input = input;
    this.#progress = progress;
    this.#signal = signal;
    this.#reading = new PassReading(deps, input, signal, (_, row) => {
      this.#progress.pages = row.pages;
    });
  }

  /** One lease, and another after a broken page. */
  async run(): Promise<FetchPagesResult> {
    const last = performance.now() + furtherLeasesMs;
    for (;;) {
      const result = await this.#useLease();
      if (!this.#reading.reader.mustPause) return result;
      await this.#reading.reader.pause();
      if (performance.now() >= last) return result;
    }
  }

  async #useLease(): Promise<FetchPagesResult> {
    const reading = this.#reading;
    let row = await reading.reload();
    this.#progress.pages = row.pages;
    if (row.position.complete) return this.#result('complete');
    if (activityInfo().attempt > 1) await reading.requireWritable();
    const lease = await requestLease(this.#deps.permits, this.#input.org, this.#request());
    if (!(lease instanceof Lease)) {
      // A check is worth its request, but no wait for the budget.
      row = await reading.endCheck(null);
      return row.position.complete ? this.#result('complete') : this.#waiting(lease);
    }
    this.#forecast = lease.forecast;
    const refusal = await useLease(this.#deps.permits, this.#input.org, lease, {
      signal: this.#signal,
      sendNext: async () => {
        row = await reading.sendRequest(lease);
        // While a broken page is given time, others may use the permits.
        return !row.position.complete && !reading.reader.mustPause;
      },
      countRequests: (throttled) => reading.countRequests(throttled),
    }).catch((error: unknown) => {
      throw serviceFailure(error);
    });
    const wait = refusal && (await waitFor(this.#deps.permits, this.#input.org, this.#request()));
    if (wait) return this.#waiting(wait);
    return this.#result(row.position.complete ? 'complete' : 'more');
  }

  /** The lease that the pass needs next, as far as it is known. */
  #request(): LeaseRequest {
    const { row, slice } = this.#reading;
    return {
      project: this.#input.project,
      class: 'on-demand',
      wants: maxLease,
      ...(slice?.outcome === 'checking' ? { mayWait: false } : {}),
      ...(row.expectedPages === null ? {} : { remaining: Math.max(1, row.expectedPages - row.pages) }),
    };
  }

  #waiting(wait: PermitWait): FetchPagesResult {
    this.#forecast = wait.forecast;
    return this.#result('waiting', waitingOf(wait));
  }

  #result(outcome: FetchPagesResult['outcome'], waiting: FetchPagesResult['waiting'] = null): FetchPagesResult {
    const { pages, requests, throttled, entries } = this.#reading.row;
    const [tries, forecast] = [this.#reading.reader.tries, this.#forecast];
    const storeId = this.#deps.feedback.identity;
    return { storeId, outcome, pages, requests, throttled, entries, tries, waiting, forecast };
  }
}

function countEntries({ metrics }: ActivityDependencies, org: string, before: EntryCounts, after: EntryCounts): void {
  for (const outcome of ['inserted', 'updated', 'unchanged', 'rejected', 'tombstoned'] as const) {
    const more = after[outcome] - before[outcome];
    if (more > 0) metrics.add('docferry_feedback_entries_total', { org, outcome }, more);
  }
}
