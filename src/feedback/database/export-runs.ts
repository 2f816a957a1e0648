import type { Kysely, Transaction } from 'kysely';
import type { ExportRunRow } from '../feedback-store.ts';
import { storedText } from './stored-text.ts';
import type { ExportRunsTable, FeedbackDatabase } from './tables.ts';

/** Inserts or replaces the row of a run (X4). */
export async function recordExportRun(db: Transaction<FeedbackDatabase>, run: ExportRunRow): Promise<void> {
  const { workflow_id, run_id, ...values } = tableRow(run);
  await db
    .insertInto('export_runs')
    .values({ workflow_id, run_id, ...values })
    .onConflict((conflict) => conflict.columns(['workflow_id', 'run_id']).doUpdateSet(values))
    .execute();
}

/** Newest first; all of them without `limit`. */
export async function listExportRuns(
  db: Kysely<FeedbackDatabase>,
  { org, domain, limit }: { org?: string; domain?: string; limit?: number },
): Promise<ExportRunRow[]> {
  const rows = await db
    .selectFrom('export_runs')
    .selectAll()
    .$if(org !== undefined, (query) => query.where('org_id', '=', org ?? ''))
    .$if(domain !== undefined, (query) => query.where('domain', '=', domain ?? ''))
    .orderBy('started_at', 'desc')
    .orderBy('run_id', 'desc')
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0))
    .execute();
  return rows.map(exportRun);
}

/** How long the latest jobs took whose exports tell it, in milliseconds, the latest first. */
export async function jobDurations(
  db: Kysely<FeedbackDatabase>,
  org: string,
  domain: string,
  limit: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom('export_runs')
    .select('job_ms')
    .where('org_id', '=', org)
    .where('domain', '=', domain)
    .where('job_ms', 'is not', null)
    .orderBy('started_at', 'desc')
    .limit(limit)
    .execute();
  return rows.map(({ job_ms }) => Number(job_ms));
}

function tableRow(run: ExportRunRow): ExportRunsTable {
  return {
    workflow_id: run.workflowId,
    run_id: run.runId,
    org_id: run.org,
    domain: run.domain,
    started_at: run.startedAt,
    finished_at: run.finishedAt,
    outcome: run.outcome,
    job_id: run.jobId,
    jobs_started: run.jobsStarted,
    version: run.version,
    content_digest: run.contentDigest,
    polls: run.polls,
    detail: storedText(run.detail),
    job_ms: run.jobMs,
  };
}

function exportRun(row: ExportRunsTable): ExportRunRow {
  return {
    workflowId: row.workflow_id,
    runId: row.run_id,
    org: row.org_id,
    domain: row.domain,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    outcome: row.outcome,
    jobId: row.job_id,
    jobsStarted: row.jobs_started,
    version: row.version,
    contentDigest: row.content_digest,
    polls: row.polls,
    detail: row.detail,
    jobMs: row.job_ms === null ? null : Number(row.job_ms),
  };
}
