import type { RunOutcome } from '../../model/export/export-outcome.ts';

/** The row that a run of a site export leaves behind (X4). */
export interface ExportRunRow {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  startedAt: string;
  finishedAt: string;
  outcome: RunOutcome;
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

/** The runs of site exports, which outlive Temporal's retention. They share the database with the feedback, no more. */
export interface RunRecords {
  /** Inserts or replaces the row of a run. */
  recordExportRun(row: ExportRunRow): Promise<void>;
  /** Newest first. */
  listExportRuns(filter: { org?: string; domain?: string; limit?: number }): Promise<ExportRunRow[]>;
  /** Durations in milliseconds of the site's latest jobs whose exports recorded one, latest first. */
  jobDurations(org: string, domain: string, limit: number): Promise<number[]>;
}
