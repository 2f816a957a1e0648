import { randomUUID } from 'node:crypto';
import type { Forecast, LeaseReport, PermitAnswer, PermitAsk } from '../model/budget/permits.ts';

/** The organization's budget as activities see it; the worker implements it with a Temporal client. */
export interface PermitSource {
  ask(org: string, question: PermitAsk): Promise<PermitAnswer>;
  report(org: string, result: LeaseReport): Promise<void>;
}

/**
 * A new id for one question to the budget (budget.md): a repeated id would be answered with an old lease whose slots may
 * be free by now. Attempt numbers would repeat: they start over when an operator resets an activity.
 */
export const questionId = (): string => randomUUID();

/** The lease's time is over, so the request must not be sent. Nothing was sent. */
export class LeaseOver extends Error {
  override readonly name = 'LeaseOver';
}

/**
 * A granted lease on this worker's clock. The budget's clock is never read here: it is bounded from both sides by the
 * monotonic time since the question was sent and since the answer came (budget.md).
 */
export class Lease {
  readonly #granted: PermitAnswer & { kind: 'granted' };
  readonly #askedAt: Instant;
  readonly #answeredAt: Instant;
  readonly #arrived: number[] = [];
  #accepted = false;

  constructor(granted: PermitAnswer & { kind: 'granted' }, askedAt: Instant, answeredAt: Instant) {
    this.#granted = granted;
    this.#askedAt = askedAt;
    this.#answeredAt = answeredAt;
  }

  /** Milliseconds until the next permit may be used; Infinity when none is left or the lease is over. */
  untilNext(): number {
    const notBefore = this.#granted.notBefore[this.#arrived.length];
    if (notBefore === undefined || this.#latestNow() >= this.#granted.useBy) return Number.POSITIVE_INFINITY;
    return Math.max(0, notBefore - this.#earliestNow());
  }

  /**
   * The last check before a request leaves, to be called synchronously right before it is written; takes the permit.
   * Until `answered` the request counts as one that may still be on its way. Throws `LeaseOver`.
   */
  take(): void {
    if (this.untilNext() > 0) throw new LeaseOver('the lease has no permit for this moment');
    this.#arrived.push(this.#latestNow() + this.#granted.arrivalMs);
  }

  /** Marks the last request as written only now: the process may have been suspended since the check for longer than D. */
  written(): void {
    if (this.#arrived.length > 0) this.#arrived[this.#arrived.length - 1] = this.#latestNow() + this.#granted.arrivalMs;
  }

  /** Marks the last request as answered: it has arrived, whatever the answer said. */
  answered(how: 'accepted' | 'refused' = 'accepted'): void {
    if (this.#arrived.length > 0) this.#arrived[this.#arrived.length - 1] = this.#latestNow();
    if (how === 'accepted') this.#accepted = true;
  }

  /** What to report; nothing may be sent after it. */
  settlement(refusal: Pick<LeaseReport, 'throttled' | 'unauthorized'> = {}): LeaseReport {
    return {
      leaseId: this.#granted.leaseId,
      arrived: this.#arrived.map(Math.ceil),
      accepted: this.#accepted,
      ...refusal,
    };
  }

  /** When the budget, granting this lease, expected the pass to be done. */
  get forecast(): Forecast | null {
    return this.#granted.forecast;
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

export interface Instant {
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
