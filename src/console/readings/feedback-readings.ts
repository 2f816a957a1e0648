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
/** Characters shown of a comment or code on its own page, and of any other text; some have megabytes. */
const longestText = 50_000;
const longestField = 2_000;

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
    return this.#kept(this.#entries, query, async () => shortFields(await (await this.#store()).findEntries(query)));
  }

  documents(query: SearchQuery): SharedReading<DocumentAnswer> {
    return this.#kept(this.#documents, query, async () =>
      shortFields(await (await this.#store()).findDocuments(query)),
    );
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
  const { comment, code } = entry;
  const rest = (text: string | null) => Math.max(0, (text?.length ?? 0) - longestText);
  return {
    ...shortFields({ ...entry, comment: null, code: null }),
    comment: beginningOf(comment, longestText),
    code: beginningOf(code, longestText),
    leftOut: { comment: rest(comment), code: rest(code) },
  };
}

/** The same with all texts in it short. */
function shortFields<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (_key, part: unknown) =>
    typeof part === 'string' ? beginningOf(part, longestField) : part,
  ) as Value;
}

/** A copy: a slice would keep the whole text in memory. */
function beginningOf<Text extends string | null>(text: Text, longest: number): Text {
  return text === null || text.length <= longest ? text : (Buffer.from(text.slice(0, longest)).toString() as Text);
}
