import { ExplainedError } from '../../rules/errors.ts';
import { pagePath } from '../../rules/text.ts';
import { documentKey, type Votes } from '../rules/report-figures.ts';

/** What to look for among the entries that the service still has. Every field narrows the result. */
export interface EntrySelection {
  /**
   * Words that must all occur in comments and code, whatever case and accents; `"two words"` side by side, `confi*` by
   * its beginning, Chinese, Japanese, Korean and Thai without blanks. Without a letter, digit or emoji:
   * `SearchRefused`.
   */
  words?: string;
  org?: string;
  /** Any of these. */
  projects?: readonly string[];
  /** Any of these. */
  sources?: readonly string[];
  /** Any of these. */
  statuses?: readonly string[];
  /** Whether the page helped; `none`: nobody was asked. */
  helpful?: 'yes' | 'no' | 'none';
  /** Only entries with a comment or code. */
  withWords?: boolean;
  /** A page by path or address, compared as `documentKey` does. */
  document?: string;
  /** Bounds of `created_at_utc`, UTC ISO 8601, to the second. With either, entries without a date are left out. */
  since?: string;
  /** Exclusive. */
  until?: string;
  /** Only entries first seen after this moment, UTC ISO 8601: "new since my last visit". */
  firstSeenAfter?: string;
}

export interface SearchQuery extends EntrySelection {
  /** At most this many entries or documents, 1 to 200. */
  limit: number;
  /** `after` of the page before, for the same selection. */
  after?: string;
  /** Without it `contact` is null in every entry. */
  contacts?: boolean;
}

/** Part of a text, with the words found in it. */
export interface FoundText {
  /** As stored; at most 1,000 characters, around the first word found. */
  text: string;
  /** Where `text` begins in the whole, in UTF-16 units. */
  from: number;
  /** Of the whole, in UTF-16 units. */
  length: number;
  /** Start and end, in UTF-16 units of `text`, in order and apart. */
  marks: readonly (readonly [start: number, end: number])[];
}

export interface FoundEntry {
  org: string;
  project: string;
  id: string;
  source: string;
  status: string;
  helpful: boolean | null;
  /** As sent. */
  path: string;
  /** What paths of the same page have in common: `documentKey`. */
  document: string;
  /** UTC ISO 8601; null where there is none that can be understood. */
  createdAt: string | null;
  firstSeenAt: string;
  comment: FoundText | null;
  code: FoundText | null;
  filename: string | null;
  lang: string | null;
  contact: string | null;
}

/** The number of hits. Above 1,000 entries, or 10,000 counted by document, it is not exact: there are more. */
export interface FoundTotal {
  count: number;
  isExact: boolean;
}

/**
 * How complete the index is. New entries are in it at once; those of a moved store are added in the background.
 */
export interface IndexProgress {
  complete: boolean;
  /** Entries of the store that the builder has passed, in per cent, rounded down; 100 when complete. */
  percent: number;
}

export interface SearchAnswer {
  /** Newest first by `createdAt`; entries without a date come last, by when they were first seen. */
  entries: readonly FoundEntry[];
  total: FoundTotal;
  /** For the next page; null after the last one. */
  after: string | null;
  index: IndexProgress;
}

/** The hits of one page of the documentation. */
export interface FoundDocument {
  org: string;
  project: string;
  document: string;
  entries: number;
  /** Votes of readers who were asked. */
  helpful: { yes: number; no: number };
  /** `createdAt` of the latest; null when none has a date. */
  latest: string | null;
}

export interface DocumentAnswer {
  /** Most entries first. */
  documents: readonly FoundDocument[];
  /** Entries looked at, the newest first. Not exact: there were more, which no document counts. */
  total: FoundTotal;
  /** Documents that `limit` left out. */
  more: number;
  index: IndexProgress;
}

/** Three of the pages found whose paths contain a text: what a person may have meant by it. */
export function documentsLike({ documents }: DocumentAnswer, text: string): FoundDocument[] {
  const part = pagePath(documentKey(text)).toLowerCase();
  return documents.filter(({ document }) => pagePath(document).toLowerCase().includes(part)).slice(0, 3);
}

/** Votes and comments in one part of a time axis. */
export interface TrendPart extends Votes {
  comments: number;
}

/** One entry whole, also one that the service no longer has. */
export interface EntryDetail extends Omit<FoundEntry, 'comment' | 'code'> {
  comment: string | null;
  code: string | null;
  /** As sent. */
  createdAtAsSent: string | null;
  lastSeenAt: string;
  deletedAt: string | null;
  /** The latest 200 observed changes, the oldest of them first. */
  changes: readonly { field: string; old: string | null; new: string | null; seenAt: string }[];
  hasEarlierChanges: boolean;
}

/** The search is refused. The message names the field and the fix. */
export class SearchRefused extends ExplainedError {
  override readonly name = 'SearchRefused';
  readonly code = 'BadQuery';
  readonly field: 'words' | 'since' | 'until' | 'firstSeenAfter' | 'limit' | 'after';

  constructor(field: SearchRefused['field'], problem: string, hint: string) {
    super(problem, hint);
    this.field = field;
  }
}
