import type { ProjectOptions } from '../organizations.ts';
import { createRandom, seedOf } from '../random.ts';
import type { Settings } from '../settings.ts';
import { entryOf, type FeedbackRecord, idOf, rollRecord, seqOf } from './feedback-data.ts';
import type { FeedbackFilter } from './feedback-query.ts';

const dayMs = 86_400_000;
const duplicatedTimes = 0.02;

/** The place of an entry in the order: by `createdAt`, then by number; those without `createdAt` last (or first). */
export interface Place {
  at: number | null;
  seq: number;
}

interface Selection {
  records: FeedbackRecord[];
  more: boolean;
}

/** Elements of a list from index `first` to index `last`, both included. */
interface Segment {
  list: readonly FeedbackRecord[];
  first: number;
  last: number;
  step: 1 | -1;
}

/** Entries to add at run time; what is left out is generated. */
export interface NewEntries {
  /** Default 1. */
  count?: number;
  /** ISO 8601 or null; default: the service's present. */
  createdAt?: string | null;
  source?: string;
  status?: string;
  /** Values that replace generated ones, known and unknown fields alike. */
  fields?: Readonly<Record<string, unknown>>;
  /** Served instead of an entry, whatever it is. */
  raw?: unknown;
}

export interface EntryChange {
  id: string;
  status?: string;
  fields?: Readonly<Record<string, unknown>>;
}

/** The feedback of one project: compact records in order of time, served as whole entries. */
export class ProjectFeedback {
  readonly id: string;
  readonly #project: Required<ProjectOptions>;
  readonly #settings: Settings;
  readonly #seed: number;
  /** By number; a deleted entry leaves a hole. */
  readonly #bySeq: (FeedbackRecord | undefined)[] = [];
  /** Ascending by (at, seq). */
  readonly #dated: (FeedbackRecord & { at: number })[] = [];
  /** Ascending by seq. */
  readonly #undated: FeedbackRecord[] = [];

  constructor(project: Required<ProjectOptions>, settings: Settings, endMs: number) {
    this.id = project.id;
    this.#project = project;
    this.#settings = settings;
    this.#seed = seedOf(settings.seed, project.id);
    for (const at of spreadTimes(project.entries, endMs, settings.days, this.#seed)) {
      this.#insert(rollRecord(this.#seed, this.#bySeq.length, at, project.openShare, settings));
    }
  }

  get order(): 'newest' | 'oldest' {
    return this.#project.order;
  }

  get size(): number {
    return this.#dated.length + this.#undated.length;
  }

  /**
   * At most `limit` records that pass the filter, in the order of the service: from the start or after a place, leaving
   * out the first `skip`. `more`: at least one follows.
   */
  select(filter: FeedbackFilter, after: Place | null, skip: number, limit: number): Selection {
    const records: FeedbackRecord[] = [];
    let left = skip;
    for (const { list, first, last, step } of this.#segments(filter, after)) {
      for (let index = first; step > 0 ? index <= last : index >= last; index += step) {
        const record = list[index];
        if (record === undefined || !passes(filter, record)) continue;
        if (left > 0) left -= 1;
        else if (records.length === limit) return { records, more: true };
        else records.push(record);
      }
    }
    return { records, more: false };
  }

  /** The entry as it is served. */
  serve(record: FeedbackRecord): unknown {
    return entryOf(this.#seed, record, this.#settings);
  }

  /** Every current entry as it would be served: oldest first, those without createdAt last. */
  *truth(): Generator<unknown> {
    for (const record of this.#dated) yield this.serve(record);
    for (const record of this.#undated) yield this.serve(record);
  }

  /** Adds entries and returns their ids. Throws an Error when `createdAt` cannot be read. */
  add(wanted: NewEntries, presentMs: number): string[] {
    const at = wanted.createdAt === undefined ? Math.floor(presentMs) : readTime(wanted.createdAt);
    const ids: string[] = [];
    for (let left = wanted.count ?? 1; left > 0; left--) {
      const seq = this.#bySeq.length;
      const rolled = rollRecord(this.#seed, seq, at, this.#project.openShare, this.#settings);
      const record: FeedbackRecord = { ...rolled, at };
      if (wanted.source !== undefined) record.source = wanted.source;
      if (wanted.status !== undefined) record.status = wanted.status;
      if (wanted.fields !== undefined) record.fields = wanted.fields;
      if ('raw' in wanted) record.raw = wanted.raw;
      this.#insert(record);
      ids.push(idOf(this.#seed, seq));
    }
    return ids;
  }

  /** Throws an Error that names an unknown id. */
  change({ id, status, fields }: EntryChange): void {
    const record = this.#find(id);
    if (status !== undefined) record.status = status;
    if (fields !== undefined) record.fields = { ...record.fields, ...fields };
  }

  /** Deletes the entry without a trace. Throws an Error that names an unknown id. */
  delete(id: string): void {
    const record = this.#find(id);
    this.#bySeq[record.seq] = undefined;
    const list: FeedbackRecord[] = record.at === null ? this.#undated : this.#dated;
    list.splice(record.at === null ? list.indexOf(record) : this.#firstNotBefore({ ...record, at: record.at }), 1);
  }

  /** Deletes the entry at a place of `truth`; nothing when there is none. */
  deleteAt(place: number): void {
    const record = this.#dated[place] ?? this.#undated[place - this.#dated.length];
    if (record !== undefined) this.delete(idOf(this.#seed, record.seq));
  }

  #find(id: string): FeedbackRecord {
    const seq = seqOf(this.#seed, id);
    const record = seq === null ? undefined : this.#bySeq[seq];
    if (record === undefined) throw new Error(`project ${this.id} has no entry ${JSON.stringify(id.slice(0, 60))}`);
    return record;
  }

  #insert(record: FeedbackRecord): void {
    this.#bySeq[record.seq] = record;
    if (isDated(record)) this.#dated.splice(this.#firstNotBefore(record), 0, record);
    else this.#undated.push(record);
  }

  #firstNotBefore(place: { at: number; seq: number }): number {
    return firstIndex(this.#dated, ({ at, seq }) => at > place.at || (at === place.at && seq >= place.seq));
  }

  /** The entries left to read: the dated ones within the bounds, then, without bounds, the undated ones. */
  #segments(filter: FeedbackFilter, after: Place | null): Segment[] {
    const low = filter.fromMs === null ? 0 : this.#firstNotBefore({ at: filter.fromMs, seq: -1 });
    const high = filter.toMs === null ? this.#dated.length : this.#firstNotBefore({ at: filter.toMs, seq: -1 });
    const nullsFirst = this.#settings.nulls === 'first';
    const dated = (): Segment[] => {
      if (after === null || (nullsFirst && after.at === null)) return [this.#datedSegment(low, high - 1, null)];
      return after.at === null ? [] : [this.#datedSegment(low, high - 1, { at: after.at, seq: after.seq })];
    };
    const undated = (): Segment[] => {
      if (filter.fromMs !== null || filter.toMs !== null || (nullsFirst && after !== null && after.at !== null))
        return [];
      const seen = after?.at === null ? after.seq : -1;
      const first = firstIndex(this.#undated, ({ seq }) => seq > seen);
      return [{ list: this.#undated, first, last: this.#undated.length - 1, step: 1 }];
    };
    return nullsFirst ? [...undated(), ...dated()] : [...dated(), ...undated()];
  }

  #datedSegment(lowest: number, highest: number, after: { at: number; seq: number } | null): Segment {
    const list = this.#dated;
    if (this.order === 'oldest') {
      const start = after === null ? 0 : this.#firstNotBefore({ at: after.at, seq: after.seq + 1 });
      return { list, first: Math.max(lowest, start), last: highest, step: 1 };
    }
    const end = after === null ? list.length : this.#firstNotBefore(after);
    return { list, first: Math.min(highest, end - 1), last: lowest, step: -1 };
  }
}

function isDated(record: FeedbackRecord): record is FeedbackRecord & { at: number } {
  return record.at !== null;
}

function passes(filter: FeedbackFilter, record: FeedbackRecord): boolean {
  if (filter.source !== null && filter.source !== record.source) return false;
  return filter.statuses === null || filter.statuses.includes(record.status);
}

/** The first index whose element satisfies a condition that all later ones satisfy too. */
function firstIndex<Item>(items: readonly Item[], condition: (item: Item) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && condition(item)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function readTime(createdAt: string | null): number | null {
  if (createdAt === null) return null;
  const at = Date.parse(createdAt);
  if (Number.isNaN(at)) throw new Error('createdAt must be an ISO 8601 date-time or null');
  return at;
}

/** Ascending milliseconds within the last `days` before `endMs`; some occur twice. */
function spreadTimes(count: number, endMs: number, days: number, seed: number): number[] {
  const random = createRandom(seedOf(seed, 'times'));
  const times = Array.from({ length: count }, () => Math.floor(endMs - random() * days * dayMs)).sort((a, b) => a - b);
  for (let index = 1; index < times.length; index++) {
    const before = times[index - 1];
    if (before !== undefined && random() < duplicatedTimes) times[index] = before;
  }
  return times;
}
