import type { Kysely, Transaction } from 'kysely';
import { columnsOf, fieldsOf } from './row-fields.ts';
import { storedText } from './stored-text.ts';
import type { FeedbackDatabase } from './tables.ts';
import type { ExportRunRow, RunFilter } from './run-records.ts';

/** Inserts or replaces the row of a run (X4). */
export async function recordExportRun(
  db: Transaction<FeedbackDatabase>,
  { workflowId, runId, org, ...run }: ExportRunRow,
): Promise<void> {
  const values = { ...columnsOf(run), org_id: org, detail: storedText(run.detail) };
  await db
    .insertInto('export_runs')
    .values({ workflow_id: workflowId, run_id: runId, ...values })
    .onConflict((conflict) => conflict.columns(['workflow_id', 'run_id']).doUpdateSet(values))
    .execute();
}

/** Newest first; all of them without `limit`. */
export async function listExportRuns(
  db: Kysely<FeedbackDatabase>,
  { org, domain, outcome, since, limit }: RunFilter,
): Promise<ExportRunRow[]> {
  const rows = await db
    .selectFrom('export_runs')
    .selectAll()
    .$if(org !== undefined, (query) => query.where('org_id', '=', org ?? ''))
    .$if(domain !== undefined, (query) => query.where('domain', '=', domain ?? ''))
    .$if(outcome !== undefined, (query) => query.where('outcome', '=', outcome ?? 'failed'))
    .$if(since !== undefined, (query) => query.where('started_at', '>=', since ?? ''))
    .orderBy('started_at', 'desc')
    .orderBy('run_id', 'desc')
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0))
    .execute();
  return rows.map((row) => {
    const { orgId: org, jobMs, ...run } = fieldsOf(row);
    return { ...run, org, jobMs: jobMs === null ? null : Number(jobMs) };
  });
}

/** Durations in milliseconds of the latest jobs whose exports recorded one, latest first. */
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
