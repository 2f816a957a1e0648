import type { Lease, Refusal, SentRequest } from '../lease.ts';

/** How the service answered: refused, or in any other way. */
export type Outcome = Refusal | 'accepted';

/** Tells the budget of a lease. */
export type Settle = (report: ReturnType<Lease['settlement']>) => void;

/** A lease whose permits are used by several requests at the same time. It is settled as soon as none needs it. */
export class SharedLease {
  readonly #lease: Lease;
  readonly #settle: Settle;
  #open = 0;
  #isSettled = false;
  #doubted: Refusal | undefined;

  /** @param settle is called once, and once more for each refusal that comes after it */
  constructor(lease: Lease, settle: Settle) {
    this.#lease = lease;
    this.#settle = settle;
  }

  /** Hands out the first `count` permits; the others, and those not used, return with the settlement. */
  permits(count: number): HeldPermit[] {
    this.#open = Math.min(count, this.#lease.permits);
    if (this.#open === 0) this.#end();
    return Array.from(
      { length: this.#open },
      (_, place) => new HeldPermit(this.#lease, place, (refusal) => this.#close(refusal)),
    );
  }

  #close(refusal: Refusal | undefined): void {
    this.#open -= 1;
    if (refusal?.doubted) this.#doubted = refusal;
    // The organization must wait from now on, whatever the others bring: their requests count as under way.
    if (refusal?.throttled) this.#end(refusal);
    else if (this.#open === 0) this.#end(this.#doubted);
  }

  #end(refusal?: Refusal): void {
    if (!this.#isSettled || refusal !== undefined) this.#settle(this.#lease.settlement(refusal));
    this.#isSettled = true;
  }
}

/** The right to send one request. */
export class HeldPermit {
  readonly #lease: Lease;
  readonly #place: number;
  readonly #closed: (refusal: Refusal | undefined) => void;
  #sent: SentRequest | null = null;
  #outcome: Outcome | null = null;

  constructor(lease: Lease, place: number, closed: (refusal: Refusal | undefined) => void) {
    this.#lease = lease;
    this.#place = place;
    this.#closed = closed;
  }

  /** Milliseconds until it may be used; Infinity when its lease is over. */
  untilUse(): number {
    return this.#lease.untilPermit(this.#place);
  }

  get isTaken(): boolean {
    return this.#sent !== null;
  }

  /** The last check before the request is written, as `Lease.take`. Throws `LeaseOver`. */
  take(): void {
    this.#sent = this.#lease.take();
  }

  written(): void {
    this.#sent?.written();
  }

  answered(outcome: Outcome): void {
    this.#sent?.answered(outcome === 'accepted' ? 'accepted' : 'refused');
    this.#outcome = outcome;
  }

  /** To be called once, when the request was answered, failed, or was not sent. */
  close(): void {
    this.#closed(this.#outcome === 'accepted' || this.#outcome === null ? undefined : this.#outcome);
  }
}
