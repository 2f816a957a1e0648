import type { EntryCounts, FeedbackEntry, RejectedEntry } from '../rules/feedback-entry.ts';
import type { PassOutcome, ReadingKind } from '../rules/pass-bounds.ts';
import type { Pace } from '../rules/refresh/pace.ts';
import type { RefreshPage } from '../rules/refresh/pages.ts';
import type { RefreshedProject } from '../rules/refresh-run.ts';
import type { PlannedSlice } from '../rules/slice.ts';
import type { RunFilter } from '../store/run-records.ts';

/** How far a pass has come with the pages stored so far. */
export interface PassPosition {
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
  pass: ReadingKind;
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
  /** The page was counted before: only its changes count. */
  isCheck?: boolean;
  /** Just before the request; by default the start of the pass. */
  askedAt?: Date;
}

export interface StoredPage {
  counts: EntryCounts;
  position: PassPosition;
  /** Of a pass of kind `refresh` whose page was read to its end: how many entries are missing, if a person must know. */
  massMissing: number | null;
}

/** Which passes are meant: all without a field. */
export interface PassFilter extends Omit<RunFilter, 'domain' | 'outcome'> {
  project?: string;
  outcome?: PassOutcome;
}

/** A project as the next request is chosen. */
export interface ProjectView extends RefreshedProject {
  arrivals: { at: number; long: number; short: number };
  headReadAt: number | null;
  /** Whether its lists are cut into pages, and when. */
  cutAt: number | null;
  /** The pass of its first reading, while that goes on, with the pages that it has read. */
  firstPass: { passId: string; pages: number } | null;
  /** After a failure, its first reading goes on at this moment. */
  notBefore: number;
  /** The pass of a page that is read by half. */
  halfRead: string | null;
}

/** What an organization's next request is chosen from. */
export interface RefreshView {
  pace: Pace;
  projects: ProjectView[];
  /** The pages that may be worth most, and all that bring new entries or were found to lack some. */
  pages: RefreshPage[];
}

export interface RefreshRun {
  workflowId: string;
  runId: string;
}

export interface RefreshEnd extends RefreshRun {
  org: string;
  outcome: 'completed' | 'failed' | 'cancelled';
  /** Failure type and message, without content. */
  error: string | null;
  startedAt: Date;
  finishedAt: Date;
}

/** Another attempt has stored the page in the meantime: read the position again. */
export class StalePosition extends Error {
  override readonly name = 'StalePosition';
}
