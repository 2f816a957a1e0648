import type { EntryCounts, FeedbackEntry, RejectedEntry } from '../rules/feedback-entry.ts';
import type { PassKind, PassOutcome } from '../rules/pass-bounds.ts';
import type { PassSlice, PlannedSlice } from '../rules/slice.ts';

/** How far a pass has come with the pages stored so far. */
export interface PassPosition {
  /** Pages stored. */
  page: number;
  /** Cursor of the next page; null before the first page of a slice and after the last one. */
  cursor: string | null;
  /** True when the last page is stored. */
  complete: boolean;
}

export interface PassRow {
  passId: string;
  org: string;
  project: string;
  pass: PassKind;
  workflowId: string;
  runId: string;
  /** Bounds of the pass as sent to the service. */
  dateFrom: string | null;
  dateTo: string | null;
  startedAt: string;
  finishedAt: string | null;
  /** `running` until finished. */
  outcome: PassOutcome;
  /** Failure type and message, without content. */
  error: string | null;
  pages: number;
  requests: number;
  throttled: number;
  waitedMs: number;
  entries: EntryCounts;
  /** Greatest understood `createdAt` this pass has seen, UTC ISO 8601; null if none. */
  greatestCreatedAt: string | null;
  position: PassPosition;
  /** Requests that the slices planned so far are expected to take; null while that is unknown of one. */
  expectedPages: number | null;
}

export type NewPass = Pick<
  PassRow,
  'passId' | 'org' | 'project' | 'pass' | 'workflowId' | 'runId' | 'dateFrom' | 'dateTo'
> & {
  startedAt: Date;
  /** What the pass begins with; by default one walk over its dates. */
  slices?: readonly PlannedSlice[];
};

export interface PassResult {
  outcome: 'completed' | 'failed' | 'cancelled';
  error: string | null;
  waitedMs: number;
  finishedAt: Date;
}

/** A page that was read, and what becomes of it. */
export interface PageUpsert {
  passId: string;
  /** The position from which the page was read; from any other it is refused with `StalePosition`. */
  from: PassPosition;
  entries: readonly FeedbackEntry[];
  rejected: readonly RejectedEntry[];
  nextCursor: string | null;
  hasMore: boolean;
  /** Requests sent since the page before, this page's included. */
  requests: number;
  seenAt: Date;
  /** True when the last page of a slice may be requested again, to see whether pages have shifted meanwhile. */
  mayCheck?: boolean;
  /** Store only the rows; the position stays: the pass cannot continue from this page, or requested it again. */
  rowsOnly?: boolean;
  /** The page was counted before: only what it changes counts. */
  isCheck?: boolean;
  /** Just before the request; by default the start of the pass. */
  askedAt?: Date;
}

/** Which passes are meant: all without a field. */
export interface PassFilter {
  org?: string;
  project?: string;
  outcome?: PassOutcome;
  /** They began at this moment or later, UTC ISO 8601. */
  since?: string;
  limit?: number;
}

/** Passes and their pages. What a method writes is one transaction, and safe to repeat. */
export interface PassStore {
  /** Inserts the row of a pass, or returns the existing one of that `passId` unchanged. */
  beginPass(pass: NewPass): Promise<PassRow>;
  getPass(passId: string): Promise<PassRow | null>;
  /** Newest first. */
  listPasses(filter: PassFilter): Promise<PassRow[]>;
  /**
   * Stores rows, rejects, changes and the position after the page in one transaction (S2); after the last page of a
   * slice also what the pass does next. Throws, and writes nothing: `StalePosition`, `RepeatedCursor` (the next cursor,
   * or the page itself, came before in this slice) and `GapInDates` (the slice does not join the one it continues).
   */
  upsertPage(page: PageUpsert): Promise<{ counts: EntryCounts; position: PassPosition }>;
  /** The slice that is being read, or is next; null when the pass is complete or unknown. */
  currentSlice(passId: string): Promise<PassSlice | null>;
  /** All slices of a pass in the order in which they were planned. */
  listSlices(passId: string): Promise<PassSlice[]>;
  /**
   * The service refused `cursor`: if the pass still stands there, another slice continues by date from the last
   * `createdAt` seen (S3). Throws `CannotResume`, naming what stays out of reach.
   */
  cutSlice(passId: string, cursor: string): Promise<void>;
  /** Ends the check of a slice: `same` when its last page came again unchanged, null when it was not requested. */
  endCheck(passId: string, same: boolean | null, at: Date): Promise<void>;
  /** Adds requests that led to no page, so that the pass's row tells what it cost. */
  countRequests(passId: string, spent: { requests: number; throttled: number }): Promise<PassRow>;
  finishPass(passId: string, result: PassResult): Promise<PassRow>;
}

/** Another attempt has stored the page in the meantime: read the position again. */
export class StalePosition extends Error {
  override readonly name = 'StalePosition';
}
