import type { EntryCounts, PassKind } from '../model/cargo.ts';
import type { ProjectActivity } from '../model/observed-load.ts';
import type { FeedbackEntry, RejectedEntry } from './feedback-entry.ts';
import type { FeedbackRecord, RecordFilter } from './feedback-record.ts';
import type { FeedbackStats } from './feedback-stats.ts';

/** Where a pass stands after the pages committed so far. */
export interface PassPosition {
  /** Pages committed. */
  page: number;
  /** Cursor of the next page; null before the first page and after the last one. */
  cursor: string | null;
  /** True when the last page was committed. */
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
}

export interface ExportRunRow {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  startedAt: string;
  finishedAt: string;
  outcome: 'published' | 'unchanged' | 'rejected' | 'failed' | 'cancelled';
  jobId: string | null;
  jobsStarted: number;
  version: string | null;
  contentDigest: string | null;
  polls: number;
  /** JSON text: reasons, rollouts and the failure's type and message. */
  detail: string;
}

/** The team's own database (DESIGN §5 "database"). Every method is one transaction; all are safe to repeat. */
export interface FeedbackStore {
  /** Random id written when the database was made; workflows pin it (`StoreMismatch`). */
  readonly identity: string;
  /** Inserts the row of a pass, or returns the existing one of that `passId` unchanged. */
  beginPass(
    pass: Pick<PassRow, 'passId' | 'org' | 'project' | 'pass' | 'workflowId' | 'runId' | 'dateFrom' | 'dateTo'> & {
      startedAt: Date;
    },
  ): Promise<PassRow>;
  getPass(passId: string): Promise<PassRow | null>;
  /**
   * Rows, rejects, changes and the position after the page, in one transaction (DESIGN S2).
   * Throws `StalePosition` (somebody else committed this page) and `RepeatedCursor` (the next cursor was seen before
   * in this pass; nothing is written).
   */
  commitPage(commit: PageCommit): Promise<{ counts: EntryCounts; position: PassPosition }>;
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
  /** What a plan of the budget is made from: sizes, new entries, what past passes cost. */
  projectActivity(org: string, project: string): Promise<ProjectActivity>;
  /** Inserts or replaces the row of a run. */
  recordExportRun(row: ExportRunRow): Promise<void>;
  listExportRuns(filter: { org?: string; domain?: string; limit?: number }): Promise<ExportRunRow[]>;
  /** Writes and removes a row, to show that the store is writable. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}

/** The page was committed by somebody else in the meantime: read the position again. */
export class StalePosition extends Error {
  override readonly name = 'StalePosition';
}

/** The service handed out a cursor it had handed out before in this pass: following it would never end. */
export class RepeatedCursor extends Error {
  override readonly name = 'RepeatedCursor';
}
