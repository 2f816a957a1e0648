import { createHash } from 'node:crypto';
import { ExplainedError } from '../../rules/errors.ts';

/** What was read, and when. */
interface Read<Value> {
  value: Value;
  /** Milliseconds since the epoch. */
  at: number;
  /** A newer reading does not come: its source is slow or away. */
  late: boolean;
}

export interface ReadingTimes {
  /** A reading is used for this long, before the next one is taken. */
  freshMs: number;
  /** A page waits this long for a new one if there is an old one, */
  maxWaitMs: number;
  /** and this long if there is none. */
  firstMs: number;
}

/** So many times as long as a reading is fresh, pages show it while the next one is taken. */
const usableFor = 3;

export const usualTimes: ReadingTimes = { freshMs: 2_000, maxWaitMs: 1_000, firstMs: 15_000 };

/** No reading came in time. */
export class ReadingLate extends ExplainedError {
  override readonly name = 'ReadingLate';
  readonly code = 'TooSlow';
  override readonly hint = 'load the page again in a moment';

  constructor() {
    super('what the page shows could not be read in time');
  }
}

/**
 * One reading for all viewers. A page's question triggers it, at most as often as it gets old and never twice at a
 * time; while there are listeners, it repeats.
 */
export class SharedReading<Value> {
  readonly #read: () => Promise<Value>;
  readonly #times: ReadingTimes;
  readonly #listeners = new Set<() => void>();
  /** Outdated once a person has acted since it was begun. */
  #last: { value: Value; at: number; digest: string; isOutdated: boolean } | null = null;
  #underWay: Promise<Value> | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(read: () => Promise<Value>, times: ReadingTimes = usualTimes) {
    this.#read = read;
    this.#times = times;
  }

  /** The latest reading, an old one if no new one comes soon. Throws what the first reading throws, or `ReadingLate`. */
  async get(): Promise<Read<Value>> {
    const { freshMs, maxWaitMs, firstMs } = this.#times;
    const last = this.#last;
    const age = last === null || last.isOutdated ? Number.POSITIVE_INFINITY : Date.now() - last.at;
    if (age < freshMs) return this.#latest(false);
    const reading = this.#refresh();
    if (age < usableFor * freshMs) {
      reading.catch(() => {});
      return this.#latest(false);
    }
    const ended = await Promise.race([
      reading.then(() => 'read' as const),
      waited(this.#last === null ? firstMs : maxWaitMs),
    ]).catch((error: unknown) => {
      if (this.#last === null) throw error;
      return 'failed' as const;
    });
    return this.#latest(ended !== 'read');
  }

  /** A person acted: the last reading is out of date, and so is one under way. */
  forget(): void {
    this.#underWay = null;
    if (this.#last !== null) this.#last.isOutdated = true;
  }

  /** Calls back when the reading has changed, until the returned function is called. */
  listen(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    this.#timer ??= setInterval(() => void this.#refresh().catch(() => {}), this.#times.freshMs).unref();
    return () => {
      this.#listeners.delete(onChange);
      if (this.#listeners.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  #latest(late: boolean): Read<Value> {
    if (this.#last === null) throw new ReadingLate();
    const { value, at } = this.#last;
    return { value, at, late };
  }

  #refresh(): Promise<Value> {
    if (this.#underWay !== null) return this.#underWay;
    const isLatest = () => this.#underWay === taking;
    const taking: Promise<Value> = this.#take(isLatest).finally(() => {
      if (isLatest()) this.#underWay = null;
    });
    this.#underWay = taking;
    return taking;
  }

  /** `isLatest` says whether nothing was done since. */
  async #take(isLatest: () => boolean): Promise<Value> {
    const at = Date.now();
    const value = await this.#read();
    if (!isLatest() && this.#last !== null) return value;
    const digest = digestOf(value);
    const before = this.#last;
    // Unchanged parts stay the same object, so that pages recognise parts that they have rendered.
    this.#last = { value: before?.digest === digest ? before.value : value, at, digest, isOutdated: !isLatest() };
    if (before?.digest !== digest) for (const listener of this.#listeners) listener();
    return this.#last.value;
  }
}

function waited(ms: number): Promise<'late'> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, 'late').unref();
  });
}

function digestOf(value: unknown): string {
  const text = JSON.stringify(value, (_key, part) =>
    part instanceof Map ? [...part] : part instanceof Set ? [...part] : part,
  );
  return createHash('sha256').update(text).digest('base64');
}

/** Shared readings of what is asked; of very many, those unasked for longest are dropped. */
export class Readings<Asked, Value> {
  readonly #readerOf: (asked: Asked) => () => Promise<Value>;
  readonly #times: ReadingTimes;
  readonly #most: number;
  readonly #kept = new Map<string, SharedReading<Value>>();

  constructor(readerOf: (asked: Asked) => () => Promise<Value>, times: ReadingTimes, most = Number.POSITIVE_INFINITY) {
    this.#readerOf = readerOf;
    this.#times = times;
    this.#most = most;
  }

  of(asked: Asked): SharedReading<Value> {
    const key = JSON.stringify(asked);
    const reading = this.#kept.get(key) ?? new SharedReading(this.#readerOf(asked), this.#times);
    // The one asked for last is the last.
    this.#kept.delete(key);
    this.#kept.set(key, reading);
    const [longestUnasked] = this.#kept.keys();
    if (this.#kept.size > this.#most && longestUnasked !== undefined) this.#kept.delete(longestUnasked);
    return reading;
  }

  /** A person acted: all readings are out of date. */
  forget(): void {
    for (const reading of this.#kept.values()) reading.forget();
  }
}
