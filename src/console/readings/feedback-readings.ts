import type {
  DocumentAnswer,
  EntryDetail,
  FeedbackSearch,
  SearchAnswer,
  SearchQuery,
} from '../../feedback/search/feedback-search.ts';
import { type ReadingTimes, SharedReading } from './shared-reading.ts';

/** Readings kept at a time, of each kind: an answer has at most some hundred thousand characters. */
const mostKept = 100;
/** Characters shown of a comment or code; some have megabytes. */
const longestText = 50_000;

/** An entry with as much of its texts as a page shows. */
export interface ShownEntry extends EntryDetail {
  /** Characters left out of each text. */
  leftOut: { comment: number; code: number };
}

/** What people search, read once for all who ask the same. */
export class FeedbackReadings {
  readonly #store: () => Promise<FeedbackSearch>;
  readonly #times: ReadingTimes;
  readonly #entries = new Map<string, SharedReading<SearchAnswer>>();
  readonly #documents = new Map<string, SharedReading<DocumentAnswer>>();
  readonly #details = new Map<string, SharedReading<ShownEntry | null>>();

  constructor(store: () => Promise<FeedbackSearch>, times: ReadingTimes) {
    this.#store = store;
    this.#times = times;
  }

  entries(query: SearchQuery): SharedReading<SearchAnswer> {
    return this.#kept(this.#entries, query, async () => (await this.#store()).findEntries(query));
  }

  documents(query: SearchQuery): SharedReading<DocumentAnswer> {
    return this.#kept(this.#documents, query, async () => (await this.#store()).findDocuments(query));
  }

  /** Null when there is no such entry. */
  entry(project: string, id: string, contacts: boolean): SharedReading<ShownEntry | null> {
    return this.#kept(this.#details, { project, id, contacts }, async () => {
      const found = await (await this.#store()).entryDetail(project, id, { contacts });
      return found && shownOf(found);
    });
  }

  /** Who may see contacts and who may not never share a reading: that is part of what they ask. */
  #kept<Value>(
    readings: Map<string, SharedReading<Value>>,
    asked: object,
    read: () => Promise<Value>,
  ): SharedReading<Value> {
    const key = JSON.stringify(asked);
    const reading = readings.get(key) ?? new SharedReading(read, this.#times);
    // The one used last is the last.
    readings.delete(key);
    readings.set(key, reading);
    const [longestUnused] = readings.keys();
    if (readings.size > mostKept && longestUnused !== undefined) readings.delete(longestUnused);
    return reading;
  }
}

function shownOf(entry: EntryDetail): ShownEntry {
  const comment = beginningOf(entry.comment);
  const code = beginningOf(entry.code);
  return {
    ...entry,
    comment: comment.text,
    code: code.text,
    leftOut: { comment: comment.leftOut, code: code.leftOut },
  };
}

function beginningOf(text: string | null): { text: string | null; leftOut: number } {
  if (text === null || text.length <= longestText) return { text, leftOut: 0 };
  // A copy: a slice would keep the whole text in memory.
  return { text: Buffer.from(text.slice(0, longestText)).toString(), leftOut: text.length - longestText };
}
