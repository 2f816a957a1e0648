import { type ReadingTimes, SharedReading } from './shared-reading.ts';

/** Shared readings of what many pages may show and few do; those longest unasked are forgotten. */
export class LatestReadings<Value> {
  readonly #most: number;
  readonly #times: ReadingTimes;
  readonly #kept = new Map<string, SharedReading<Value>>();

  constructor(most: number, times: ReadingTimes) {
    this.#most = most;
    this.#times = times;
  }

  /** The reading of this name; `read` is used when there is none yet. */
  of(key: string, read: () => Promise<Value>): SharedReading<Value> {
    const reading = this.#kept.get(key) ?? new SharedReading(read, this.#times);
    // The one asked for last is the last.
    this.#kept.delete(key);
    this.#kept.set(key, reading);
    const [longestUnasked] = this.#kept.keys();
    if (this.#kept.size > this.#most && longestUnasked !== undefined) this.#kept.delete(longestUnasked);
    return reading;
  }
  /** Something was done: what was read is old. */
  forget(): void {
    for (const reading of this.#kept.values()) reading.forget();
  }
}
