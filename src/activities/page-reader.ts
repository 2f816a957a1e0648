import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { pageSize, type SliceQuery } from '../model/sync/slice.ts';
import { type Lease, LeaseOver, type SentRequest } from '../permits/lease.ts';
import type { DocumentationService, FeedbackPage, FeedbackQuery } from '../service/documentation-service.ts';
import { MalformedResponse, NetworkError, ServerError } from '../service/errors.ts';
import { isAnswer, refusalOf } from './answers.ts';

/** A broken page is requested once more, soon: at most two requests are wasted (S3). */
const triesOfAPage = 2;
const pauseBeforeRetryMs = 500;

/** A page that cannot be read, however often it is requested. The message says why, without content. */
export class BrokenPage extends Error {
  override readonly name = 'BrokenPage';
}

/** Requests pages under a lease, one at a time, and decides which failures are worth another request. */
export class PageReader {
  readonly #service: DocumentationService;
  readonly #project: string;
  readonly #signal: AbortSignal;
  #failures = 0;
  #tries: number;
  #uncounted = 0;
  #askedAt = new Date();

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

  /** Just before the last request. */
  get askedAt(): Date {
    return this.#askedAt;
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

  /**
   * Sends one request. Null when nothing was read: the lease is over, or the page was broken and is worth another try.
   * Throws `BrokenPage` when it is not, and everything else that the service throws.
   */
  async fetch(lease: Lease, slice: SliceQuery, cursor: string | null): Promise<FeedbackPage | null> {
    let sent: SentRequest | undefined;
    try {
      this.#askedAt = new Date();
      const page = await this.#service.getFeedbackPage(this.#project, queryOf(slice, cursor), {
        signal: this.#signal,
        beforeSend: () => {
          sent = lease.take();
          this.#uncounted += 1;
        },
        afterWrite: () => sent?.written(),
      });
      sent?.answered();
      return page;
    } catch (error) {
      if (error instanceof LeaseOver) return null;
      if (isAnswer(error)) sent?.answered(refusalOf(error) ? 'refused' : 'accepted');
      if (error instanceof MalformedResponse) return this.retryBroken(error.message);
      if (error instanceof ServerError || error instanceof NetworkError) return this.#retry(error);
      throw error;
    }
  }

  /** Counts a broken page and waits a little; throws `BrokenPage` the second time. */
  async retryBroken(reason: string): Promise<null> {
    this.#tries += 1;
    if (this.#tries >= triesOfAPage) throw new BrokenPage(reason);
    await this.#pause();
    return null;
  }

  /** A failure that may pass is retried once here, with another permit; after that Temporal retries. */
  async #retry(error: ServerError | NetworkError): Promise<null> {
    this.#failures += 1;
    if (this.#failures >= triesOfAPage || activityInfo().attempt > 1) throw error;
    await this.#pause();
    return null;
  }

  #pause(): Promise<void> {
    return sleep(pauseBeforeRetryMs, undefined, { signal: this.#signal });
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
