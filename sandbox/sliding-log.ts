/** Counts requests against a limit. Times are milliseconds that never run backwards. */
export interface RateWindow {
  /** True when a request at `now` fits. */
  hasRoom(now: number): boolean;
  count(now: number): void;
  /** Milliseconds until a full window has room again; 0 when nothing is counted. */
  untilNextFree(now: number): number;
  used(now: number): number;
}

/** The true sliding window: at most `limit` in any half-open interval of `windowMs`. */
export class SlidingWindow implements RateWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  #times: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  hasRoom(now: number): boolean {
    return this.used(now) < this.#limit;
  }

  count(now: number): void {
    this.#times.push(now);
  }

  untilNextFree(now: number): number {
    const excess = this.used(now) - this.#limit;
    const freeing = this.#times[Math.max(0, excess)];
    return freeing === undefined ? 0 : freeing + this.#windowMs - now;
  }

  used(now: number): number {
    const firstInside = this.#times.findIndex((time) => now - time < this.#windowMs);
    if (firstInside === -1) this.#times = [];
    else if (firstInside > 0) this.#times.splice(0, firstInside);
    return this.#times.length;
  }
}

/** A window that starts over at each multiple of its length. */
export class FixedWindow implements RateWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  #start = 0;
  #used = 0;

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  hasRoom(now: number): boolean {
    return this.used(now) < this.#limit;
  }

  count(now: number): void {
    this.#used = this.used(now) + 1;
  }

  untilNextFree(now: number): number {
    return this.used(now) === 0 ? 0 : this.#start + this.#windowMs - now;
  }

  used(now: number): number {
    const start = Math.floor(now / this.#windowMs) * this.#windowMs;
    if (start !== this.#start) {
      this.#start = start;
      this.#used = 0;
    }
    return this.#used;
  }
}

/**
 * The most of `times` (milliseconds, ascending) that any half-open interval of `windowMs` holds: two requests exactly
 * one window apart never share an interval. The judge of B1.
 */
export function mostInAnyWindow(times: readonly number[], windowMs: number): number {
  let most = 0;
  let first = 0;
  for (const [last, time] of times.entries()) {
    while (time - (times[first] ?? time) >= windowMs) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
