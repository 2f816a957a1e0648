import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { pageSize, type SliceQuery } from '../feedback/rules/slice.ts';
import { type Lease, LeaseOver, type SentRequest } from '../budget/lease.ts';
import type { DocumentationService, FeedbackPage, FeedbackQuery } from '../service/documentation-service.ts';
import { MalformedResponse, NetworkError, ServerError } from '../service/errors.ts';
import { isAnswer, refusalOf } from './answers.ts';
import { scheduledAt } from './scheduled-at.ts';

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
export class BrokenPage extends Error {
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
  #uncounted = 0;
  #pauseMs = 0;
  // Until the first answer, and not before what earlier runs have seen.
  #askedAt = scheduledAt();
  #seenAt = this.#askedAt;

  /** `tries`: failed tries of the next page, from the run before. */
  constructor(service: DocumentationService, project: string, signal: AbortSignal, tries: number) {
    this.#service = service;
    this.#project = project;
    this.#signal = signal;
    this.#tries = tries;
  }

  get tries(): number {
    return this.#tries;
  }

  /** Requests sent and not yet counted in the store. */
  get uncounted(): number {
    return this.#uncounted;
  }

  /** Whether the page was broken and `pause` comes before its next request. */
  get mustPause(): boolean {
    return this.#pauseMs > 0;
  }

  /** Just before the last request, by the budget's clock: proofs of several workers are compared (S4, decisions/0049). */
  get askedAt(): Date {
    return this.#askedAt;
  }

  /** When the last page had come, by the same clock. */
  get seenAt(): Date {
    return this.#seenAt;
  }

  /** Call when the store has counted the requests. */
  counted(): void {
    this.#uncounted = 0;
  }

  /** Call for a good page: the next one has all its tries. */
  succeeded(): void {
    this.#tries = 0;
    this.#failures = 0;
  }

  /** Waits as long as the broken page asks for. Rejects when the activity is cancelled. */
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
      this.#askedAt = lease.now();
      const page = await this.#service.getFeedbackPage(this.#project, queryOf(slice, cursor), {
        signal: this.#signal,
        beforeSend: () => {
          sent = lease.take();
          this.#uncounted += 1;
        },
        afterWrite: () => sent?.written(),
      });
      sent?.answered();
      this.#seenAt = lease.now();
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
    if (pauseMs === undefined) throw new BrokenPage(reason);
    this.#tries += 1;
    this.#pauseMs = pauseMs;
    return null;
  }

  /** A failure that may pass is retried once here, with another permit; after that Temporal retries. */
  async #retry(error: ServerError | NetworkError): Promise<null> {
    this.#failures += 1;
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
