import { randomUUID } from 'node:crypto';
import type { Forecast, LeaseReport, PermitAnswer, PermitAsk } from './rules/permits.ts';

/** The lease's time is over, so the request must not be sent. Nothing was sent. */
export class LeaseOver extends Error {
  override readonly name = 'LeaseOver';
}

/** How the service refused a request under a lease. */
export type Refusal = Pick<LeaseReport, 'throttled' | 'unauthorized' | 'doubted'>;

/** One request under a lease, from the moment its permit was taken. */
export interface SentRequest {
  /** Marks it as written only now: the process may have been suspended since the check for longer than D. */
  written(): void;
  /** Marks it as answered, and so as arrived, with any answer. */
  answered(how?: 'accepted' | 'refused'): void;
}

/**
 * A granted lease on this process's clock. The budget's clock is never read here: it is bounded from both sides by the
 * monotonic time since the question was sent and since the answer came (budget.md).
 */
export class Lease {
  readonly #granted: PermitAnswer & { kind: 'granted' };
  readonly #askedAt: Instant;
  readonly #answeredAt: Instant;
  readonly #arrived: number[] = [];
  #accepted = false;
  #refused: number | null = null;
  #isSettled = false;

  constructor(granted: PermitAnswer & { kind: 'granted' }, askedAt: Instant, answeredAt: Instant) {
    this.#granted = granted;
    this.#askedAt = askedAt;
    this.#answeredAt = answeredAt;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get permits(): number {
    return this.#granted.notBefore.length;
  }

  /** Milliseconds until the next permit may be used; Infinity when none is left or the lease is over. */
  untilNext(): number {
    return this.untilPermit(this.#arrived.length);
  }

  /** Like `untilNext`, for the permit at that place, counted from 0. */
  untilPermit(place: number): number {
    const notBefore = this.#granted.notBefore[place];
    const isOver = this.#isSettled || this.#latestNow() >= this.#granted.useBy;
    return notBefore === undefined || isOver ? Number.POSITIVE_INFINITY : Math.max(0, notBefore - this.#earliestNow());
  }

  /**
   * The last check before a request leaves, to be called synchronously right before it is written; takes the permit.
   * Until it is answered the request counts as one that may still be on its way. Throws `LeaseOver`.
   */
  take(): SentRequest {
    if (this.untilNext() > 0) throw new LeaseOver('the lease has no permit for this moment');
    const place = this.#arrived.push(this.#latestNow() + this.#granted.arrivalMs) - 1;
    return {
      written: () => {
        this.#arrived[place] = this.#latestNow() + this.#granted.arrivalMs;
      },
      answered: (how = 'accepted') => {
        this.#arrived[place] = this.#latestNow();
        if (how === 'accepted') this.#accepted = true;
        else this.#refused = place;
      },
    };
  }

  /** What to report. Nothing can be sent after it. */
  settlement(refusal: Refusal = {}): LeaseReport {
    this.#isSettled = true;
    const refused = this.#refused;
    // The budget takes the last request for the refused one.
    const order =
      refused === null ? this.#arrived : [...this.#arrived.toSpliced(refused, 1), this.#arrived[refused] ?? 0];
    return {
      leaseId: this.#granted.leaseId,
      arrived: order.map(Math.ceil),
      accepted: this.#accepted,
      ...refusal,
    };
  }

  /** When the budget, granting this lease, expected the pass to be done. */
  get forecast(): Forecast | null {
    return this.#granted.forecast;
  }

  /** The time by the budget's clock, or up to a moment earlier: this machine's may be wrong. */
  now(): Date {
    return new Date(this.#earliestNow());
  }

  /** Not before the budget's true time: it answered after the question was sent. */
  #latestNow(): number {
    return this.#granted.grantedAt + elapsedSince(this.#askedAt);
  }

  /** Not after the budget's true time: it granted before the answer came. */
  #earliestNow(): number {
    return this.#granted.grantedAt + (performance.now() - this.#answeredAt.monotonic);
  }
}

interface Instant {
  monotonic: number;
  wall: number;
}

export function instant(): Instant {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** The monotonic clock stands still while a machine sleeps; the wall clock shows that the time has passed. */
function elapsedSince(start: Instant): number {
  return Math.max(performance.now() - start.monotonic, Date.now() - start.wall);
}

/** The organization's budget as a sender of requests sees it; `BudgetClient` implements it with a Temporal client. */
export interface PermitSource {
  ask(org: string, question: PermitAsk): Promise<PermitAnswer>;
  report(org: string, result: LeaseReport): Promise<void>;
}

/**
 * Asks for permits; waiting is a normal answer. Every question gets a new random id (budget.md): a repeated id would be
 * answered with an old lease whose slots may be free by now. Attempt numbers would repeat: they start over when an
 * operator resets an activity.
 */
export async function askForLease(
  permits: PermitSource,
  org: string,
  asked: Omit<PermitAsk, 'id'>,
): Promise<Lease | Exclude<PermitAnswer, { kind: 'granted' }>> {
  const askedAt = instant();
  const answer = await askOnce(permits, org, { ...asked, id: randomUUID() });
  return answer.kind === 'granted' ? new Lease(answer, askedAt, instant()) : answer;
}

/** A lost answer may be a lease: it is returned unused, so that it does not occupy slots until it ends. */
async function askOnce(permits: PermitSource, org: string, question: PermitAsk): Promise<PermitAnswer> {
  try {
    return await permits.ask(org, question);
  } catch (error) {
    await permits.report(org, { leaseId: question.id, arrived: [] }).catch(() => {});
    throw error;
  }
}
