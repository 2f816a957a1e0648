import type { Generated } from 'kysely';
import type { PassKind } from '../model/cargo.ts';
import type { ExportRunRow, PassRow } from './feedback-store.ts';

/*
 * The tables as the query builder sees them (DESIGN §5 "database"). Times are UTC ISO 8601 text with milliseconds,
 * booleans 0 and 1: both read the same from SQLite and PostgreSQL, and text order is time order.
 */

export interface FeedbackTable {
  org_id: string;
  project_id: string;
  id: string;
  path: string;
  comment: string | null;
  /** As sent. */
  created_at: string | null;
  /** Null where `created_at` cannot be understood. */
  created_at_utc: string | null;
  source: string;
  status: string;
  helpful: number | null;
  contact: string | null;
  code: string | null;
  filename: string | null;
  lang: string | null;
  /** JSON text of the fields INTERFACE does not name; null when there are none. */
  extra: string | null;
  first_seen_at: string;
  last_seen_at: string;
  deleted_at: string | null;
}

export interface FeedbackChangesTable {
  project_id: string;
  id: string;
  field: string;
  old: string | null;
  new: string | null;
  seen_at: string;
}

export interface FeedbackRejectsTable {
  project_id: string;
  id: string;
  raw: string;
  reason: string;
  seen_at: string;
}

export interface SyncPassesTable {
  pass_id: string;
  org_id: string;
  project_id: string;
  pass: PassKind;
  workflow_id: string;
  run_id: string;
  date_from: string | null;
  date_to: string | null;
  started_at: string;
  finished_at: string | null;
  outcome: PassRow['outcome'];
  error: string | null;
  /** Pages committed: with `next_cursor` and `complete` the position of the pass. */
  pages: Generated<number>;
  next_cursor: string | null;
  complete: Generated<number>;
  requests: Generated<number>;
  throttled: Generated<number>;
  /** A `bigint` column: PostgreSQL hands it out as text. */
  waited_ms: Generated<number | string>;
  seen: Generated<number>;
  inserted: Generated<number>;
  updated: Generated<number>;
  unchanged: Generated<number>;
  rejected: Generated<number>;
  tombstoned: Generated<number>;
  greatest_created_at: string | null;
  /** The project's watermark as this pass left it; null unless it completed and could move it. */
  watermark: string | null;
}

/** Cursors handed out in a running pass, to notice one that comes back (DESIGN S3). */
export interface SyncCursorsTable {
  pass_id: string;
  digest: string;
}

export interface ExportRunsTable {
  workflow_id: string;
  run_id: string;
  org_id: string;
  domain: string;
  started_at: string;
  finished_at: string;
  outcome: ExportRunRow['outcome'];
  job_id: string | null;
  jobs_started: number;
  version: string | null;
  content_digest: string | null;
  polls: number;
  detail: string;
}

/** One row. */
export interface StoreIdentityTable {
  only_row: number;
  identity: string;
}

export interface FeedbackDatabase {
  feedback: FeedbackTable;
  feedback_changes: FeedbackChangesTable;
  feedback_rejects: FeedbackRejectsTable;
  sync_passes: SyncPassesTable;
  sync_cursors: SyncCursorsTable;
  export_runs: ExportRunsTable;
  store_identity: StoreIdentityTable;
}
