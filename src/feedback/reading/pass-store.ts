import type { EntryCounts, FeedbackEntry, ProjectKey, RejectedEntry } from '../rules/feedback-entry.ts';
import type { PassOutcome, ReadingKind } from '../rules/pass-bounds.ts';
import type { ProjectDelays } from '../rules/refresh/expected.ts';
import type { KnownWindow, Pace } from '../rules/refresh/pace.ts';
import type { RefreshPage } from '../rules/refresh/pages.ts';
import type { ConfiguredRefresh, ProjectFindings, RefreshedProject } from '../rules/refresh-run.ts';
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
  /** The page was counted before: only what it changes counts. */
  isCheck?: boolean;
  /** Just before the request; by default the start of the pass. */
  askedAt?: Date;
}

/** What storing a page has done. */
export interface StoredPage {
  counts: EntryCounts;
  position: PassPosition;
  /** Of a pass of kind `refresh` whose page was read to its end: how many entries are missing, if a person must know. */
  massMissing: number | null;
}

/** Which passes are meant: all without a field. */
export interface PassFilter {
  org?: string;
  project?: string;
  outcome?: PassOutcome;
  /** They began at this moment or later, UTC ISO 8601. */
  since?: string;
  /** They ended at this moment or later, UTC ISO 8601. */
  endedSince?: string;
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
  upsertPage(page: PageUpsert): Promise<StoredPage>;
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

/** The run that reads. */
export interface RefreshRun {
  workflowId: string;
  runId: string;
}

/** How a run of the refresh ended. */
export interface RefreshEnd extends RefreshRun {
  org: string;
  outcome: 'completed' | 'failed' | 'cancelled';
  /** Failure type and message, without content. */
  error: string | null;
  startedAt: Date;
  finishedAt: Date;
}

/** What `refresh` needs of the store. What a method writes is one transaction, and safe to repeat. */
export interface RefreshStore {
  /** What the next request of an organization is chosen from at a moment, in milliseconds; looks at no entries. */
  refreshView(org: string, projects: readonly RefreshedProject[], at: number): Promise<RefreshView>;
  /** All pages of the projects, and what decides how often they are read: what can be expected (`expectedDelays`). */
  refreshOutlook(org: string, projects: readonly RefreshedProject[], at: number): Promise<RefreshView>;
  /** How late the store learns of changes in these projects: as the plan expects, given the window, and as measured. */
  refreshDelays(
    organization: ConfiguredRefresh,
    window: KnownWindow,
    at: number,
  ): Promise<ReadonlyMap<string, ProjectDelays>>;
  /** Cuts the lists of the projects where that is due. */
  prepareRefresh(org: string, projects: readonly string[], at: number): Promise<void>;
  saveRefreshPace(org: string, pace: Pace): Promise<void>;
  /** Begins the reading of a page, or goes on with the one that its project is in. */
  beginReading(org: string, page: RefreshPage, run: RefreshRun, at: Date): Promise<PassRow>;
  /** Gives up the reading of a page; others go before it until `notBefore`, in milliseconds. */
  abandonReading(passId: string, notBefore: number): Promise<void>;
  /** Begins the first reading of a project, or goes on with it. */
  beginFirstReading(key: ProjectKey, run: RefreshRun, at: Date): Promise<PassRow>;
  /** The first reading of a project has ended, as its pass has. */
  endFirstReading(passId: string, at: Date): Promise<void>;
  /** A first reading that failed is not gone on with before this moment, in milliseconds. */
  deferFirstReading(key: ProjectKey, notBefore: number): Promise<void>;
  /** Leaves the rows of a run (X4), and returns what it found by project. */
  endRefreshRun(end: RefreshEnd): Promise<ProjectFindings[]>;
}

/** Another attempt has stored the page in the meantime: read the position again. */
export class StalePosition extends Error {
  override readonly name = 'StalePosition';
}
