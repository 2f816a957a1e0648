import type { ReadingKind } from './pass-kind.ts';
import type { EntryOrder, PlannedSlice } from './slice.ts';

/** A pass as its decisions see it. */
export interface PassOutline {
  pass: ReadingKind;
  /** Bounds of the pass as sent to the service. */
  dateFrom: string | null;
  /** Exclusive. */
  dateTo: string | null;
  startedAt: string;
  /** Pages stored so far. */
  pages: number;
}

/** One query of a pass and what reading it has shown so far (decisions/0040). */
export interface PassSlice extends PlannedSlice {
  /** Counted from 1 in the order in which they were planned. */
  slice: number;
  /**
   * `checking`: read to its end, and the last page may be requested again; `cut`: its cursor died, and another slice
   * continues it.
   */
  outcome: 'planned' | 'reading' | 'checking' | 'read' | 'cut';
  /** Start of the reading: every entry it returns is stamped later. */
  startedAt: string | null;
  pages: number;
  entries: number;
  /** Entries that this reading had already seen: pages shifted, or another pass read them at the same time. */
  repeats: number;
  order: EntryOrder | null;
  oldestSeen: string | null;
  newestSeen: string | null;
  /** How far it was read (`reachOf`). */
  reached: string | null;
  /** Where entries without a date were: before all others, elsewhere, or not met yet. */
  undatedPlace: 'first' | 'elsewhere' | null;
  /** Set when the slice continues another: its first page must contain an entry at this moment or beyond. */
  joinsAt: string | null;
  slackMs: number;
  /** Cursor of the request for the last page, and the digest of that page's ids. */
  lastCursor: string | null;
  lastDigest: string | null;
  /** Pages in a row that brought nothing new. */
  barrenPages: number;
}

/** A slice that continues another one whose cursor died. */
export interface ResumedSlice extends PlannedSlice, Pick<PassSlice, 'order' | 'joinsAt' | 'slackMs'> {}

/** The service returned a cursor or a page a second time within a slice: following it would never end. */
export class RepeatedCursor extends Error {
  override readonly name = 'RepeatedCursor';
}

/** A slice by date does not join the slice it continues: entries between them may be missing. */
export class GapInDates extends Error {
  override readonly name = 'GapInDates';
}

/** A cursor died and nothing shows where to continue. */
export class CannotResume extends Error {
  override readonly name = 'CannotResume';
}
