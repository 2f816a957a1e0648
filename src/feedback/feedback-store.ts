import type { ProjectActivity } from '../model/planning/observed-load.ts';
import type { ReportFigures, ReportQuery } from '../model/report/report-figures.ts';
import type { EntryCounts } from '../model/sync/entry-counts.ts';
import type { ReadingKind } from '../model/sync/pass-kind.ts';
import type { KnownEntries, PassBounds } from '../model/sync/pass-slices.ts';
import type { EntryOrder, PlannedSlice } from '../model/sync/slice.ts';
import type { VerifiedRange } from '../model/sync/verified-ranges.ts';
import type { FeedbackEntry, RejectedEntry } from './feedback-entry.ts';
import type { FeedbackStats } from './figures/count-feedback.ts';
import type { FeedbackRecord, RecordFilter } from './files/feedback-record.ts';
import type { Treated } from './privacy/apply-privacy.ts';

/** Where a pass stands after the pages committed so far. */
export interface PassPosition {
  /** Pages committed. */
  page: number;
  /** Cursor of the next page; null before the first page of a slice and after the last one. */
  cursor: string | null;
  /** True when the last page was committed. */
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
  outcome: 'running' | 'completed' | 'failed' | 'cancelled';
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

/** One query of a pass and what its reading has shown so far (docs/decisions/0040). */
export interface PassSlice extends PlannedSlice {
  /** Counted from 1 in the order they were planned. */
  slice: number;
  /**
   * `checking`: read to its end, and the last page may be asked for once more; `cut`: its cursor died, and another
   * slice goes on.
   */
  outcome: 'planned' | 'reading' | 'checking' | 'read' | 'cut';
  /** Start of the reading; no entry of it is noted as seen before. */
  startedAt: string | null;
  pages: number;
  entries: number;
  /** Entries that had been seen before in this reading: pages shifted, or another pass came along. */
  repeats: number;
  order: EntryOrder | null;
  oldestSeen: string | null;
  newestSeen: string | null;
  /** Up to where it was read (`reachOf`). */
  reached: string | null;
  /** Where entries without a date were: before all others, elsewhere, or not met yet. */
  undatedPlace: 'first' | 'elsewhere' | null;
  /** An entry at this moment or beyond has to be on the first page: the slice goes on where another was cut. */
  joinsAt: string | null;
  slackMs: number;
  /** Cursor the last page was asked for with, and the digest of its ids. */
  lastCursor: string | null;
  lastDigest: string | null;
  /** Pages in a row that brought nothing new. */
  barrenPages: number;
}

export interface PageCommit {
  passId: string;
  /** The position this page was read from; a commit from any other position is refused with `StalePosition`. */
  from: PassPosition;
  entries: readonly FeedbackEntry[];
  rejected: readonly RejectedEntry[];
  nextCursor: string | null;
  hasMore: boolean;
  /** Requests sent since the commit before, this page's included. */
  requests: number;
  seenAt: Date;
  /** True when the last page of a slice may be asked for once more, to see whether pages have shifted meanwhile. */
  mayCheck?: boolean;
  /** Only the rows are to be stored, the position stays: the pass cannot go on from this page, or asked once more. */
  rowsOnly?: boolean;
  /** The page was counted before: only what it changes counts. */
  isCheck?: boolean;
  /** Just before the page was asked for; by default the start of the pass. */
  askedAt?: Date;
}

/** What a pass has cost last. */
export interface LatestCost {
  project: string;
  pass: ReadingKind;
  requests: number;
}

export interface ExportRunRow {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  startedAt: string;
  finishedAt: string;
  outcome: 'published' | 'unchanged' | 'rejected' | 'rolled-back' | 'failed' | 'cancelled';
  jobId: string | null;
  jobsStarted: number;
  version: string | null;
  contentDigest: string | null;
  polls: number;
  /** JSON text: reasons, rollouts and the failure's type and message. */
  detail: string;
  /** How long the job took, in milliseconds; null when it was not completed, or exported some pages only. */
  jobMs: number | null;
}

export interface ErasureRequest {
  /** As a person writes it. */
  contact: string;
  /** Only of this project; of all, those to come included, by default. */
  project?: string;
  at: Date;
}

/** What an erasure removed. */
export interface Erasure {
  /** Keyed hash of the contact, by which it is kept out. */
  contact: string;
  entries: number;
  changes: number;
  rejects: number;
  /** Those in which there was anything of the person. */
  projects: { project: string; entries: number; changes: number; rejects: number }[];
  /** Whether what was removed is gone from the database's files too, as far as the database itself holds them. */
  scrubbed: boolean;
}

/** The team's own database (contracts.md "database"). What a method writes is one transaction unless it says otherwise; all are safe to repeat. */
export interface FeedbackStore {
  /** Random id written when the database was made; workflows pin it (`StoreMismatch`). */
  readonly identity: string;
  /** Inserts the row of a pass, or returns the existing one of that `passId` unchanged. */
  beginPass(
    pass: Pick<PassRow, 'passId' | 'org' | 'project' | 'pass' | 'workflowId' | 'runId' | 'dateFrom' | 'dateTo'> & {
      startedAt: Date;
      /** What the pass begins with; by default one walk over its dates. */
      slices?: readonly PlannedSlice[];
    },
  ): Promise<PassRow>;
  getPass(passId: string): Promise<PassRow | null>;
  /**
   * Rows, rejects, changes and the position after the page, in one transaction (S2); after the last page of a
   * slice also what the pass does next. Throws, and writes nothing: `StalePosition` (somebody else committed this
   * page), `RepeatedCursor` (the next cursor, or the page itself, was seen before in this slice) and `GapInDates` (a
   * slice that goes on where another was cut does not join it).
   */
  commitPage(commit: PageCommit): Promise<{ counts: EntryCounts; position: PassPosition }>;
  /** The slice that is being read, or is next; null when the pass is complete or unknown. */
  currentSlice(passId: string): Promise<PassSlice | null>;
  /** All slices of a pass in the order they were planned. */
  listSlices(passId: string): Promise<PassSlice[]>;
  /**
   * The service refused `cursor`: if the pass still stands there, another slice goes on from the last `createdAt` seen, by date
   * (S3). Throws `CannotResume`, naming what stays out of reach.
   */
  cutSlice(passId: string, cursor: string): Promise<void>;
  /** Ends the check of a slice: true when its last page was the same once more, null when it was not asked for. */
  endCheck(passId: string, same: boolean | null, at: Date): Promise<void>;
  /**
   * Plans what a pass of kind `verify` reads next when nothing is left to read, or completes it: windows of dates that
   * were not checked for `restMs`, those most worth it first (`worthReading`).
   */
  planSpare(passId: string, how: { at: Date; restMs: number }): Promise<void>;
  /** Counts for the plan of a pass (S4). */
  knownEntries(org: string, project: string, bounds: PassBounds): Promise<KnownEntries>;
  /** Since when which dates are proved; `undated` of entries without one. */
  verifiedRanges(org: string, project: string): Promise<{ ranges: VerifiedRange[]; undated: string | null }>;
  /** As of when everything held of a project is proved to have been as at the service; null while it is not. */
  verifiedUpTo(org: string, project: string): Promise<string | null>;
  /** Adds requests that led to no page, so that the pass's row tells what it cost. */
  countRequests(passId: string, spent: { requests: number; throttled: number }): Promise<PassRow>;
  finishPass(
    passId: string,
    result: {
      outcome: 'completed' | 'failed' | 'cancelled';
      error: string | null;
      waitedMs: number;
      finishedAt: Date;
    },
  ): Promise<PassRow>;
  /** Greatest `createdAt` of passes that completed (never the wall clock), UTC ISO 8601; null when none did. */
  watermark(org: string, project: string): Promise<string | null>;
  /** True when a sweep of the project has completed. */
  everSwept(org: string, project: string): Promise<boolean>;
  /** Newest first. */
  listPasses(filter: { org?: string; project?: string; limit?: number }): Promise<PassRow[]>;
  countEntries(org: string, project: string): Promise<{ entries: number; rejects: number; tombstones: number }>;
  /**
   * The entries of a project as one snapshot, by `created_at_utc`, then `id`; those without a date last. On SQLite the
   * store does nothing else until the iteration has ended: whoever iterates must not call it meanwhile.
   */
  exportRows(filter: RecordFilter): AsyncIterable<FeedbackRecord>;
  /** How many entries a filter by date leaves out for having none. */
  countUndated(filter: RecordFilter): Promise<number>;
  stats(org: string, project: string): Promise<FeedbackStats>;
  /** What `feedback report` shows of a project, in one snapshot; nothing of contacts or code. */
  reportFigures(query: ReportQuery): Promise<ReportFigures>;
  /** Requests that the latest completed run of each kind took, by project; those with bounds of a person left out. */
  latestCosts(org: string): Promise<LatestCost[]>;
  /** What a plan of the budget is made from: sizes, new entries, what past passes cost. */
  projectActivity(org: string, project: string): Promise<ProjectActivity>;
  /** Inserts or replaces the row of a run. */
  recordExportRun(row: ExportRunRow): Promise<void>;
  listExportRuns(filter: { org?: string; domain?: string; limit?: number }): Promise<ExportRunRow[]>;
  /** How long the latest jobs of the site took whose exports tell it, in milliseconds, the latest first. */
  jobDurations(org: string, domain: string, limit: number): Promise<number[]>;
  /**
   * Removes a person from every table and keeps them out of what later pages bring (docs/privacy.md). Safe to repeat:
   * one who was not there is kept out as well.
   */
  erase(request: ErasureRequest): Promise<Erasure>;
  /** Takes out of everything stored what `privacy` does not let stay. Many transactions, safe to repeat. */
  applyPrivacy(at: Date): Promise<Treated>;
  /** The same for what has become too old in one project. */
  expire(project: string, at: Date): Promise<Treated>;
  /** Rows that are not yet as `privacy` asks for. */
  countUntreated(at: Date): Promise<Treated>;
  /** The oldest date of an entry that holds something personal; null where none with a date does. */
  personalSince(project: string): Promise<string | null>;
  /** Writes and removes a row, to show that the store is writable. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}

/** The page was committed by somebody else in the meantime: read the position again. */
export class StalePosition extends Error {
  override readonly name = 'StalePosition';
}

/** The service handed out a cursor or a page once more within a slice: following it would never end. */
export class RepeatedCursor extends Error {
  override readonly name = 'RepeatedCursor';
}

/** A slice by date does not join the one before it: entries between them may be missing. */
export class GapInDates extends Error {
  override readonly name = 'GapInDates';
}

/** A cursor died and nothing shows where to go on. */
export class CannotResume extends Error {
  override readonly name = 'CannotResume';
}
