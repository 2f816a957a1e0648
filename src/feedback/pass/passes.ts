import type { Kysely, Selectable, Transaction } from 'kysely';
import { everything, type PlannedSlice } from '../../model/sync/slice.ts';
import { createdAtUtc } from '../database/created-at.ts';
import { storedTextOrNull } from '../database/stored-text.ts';
import type { FeedbackDatabase, SyncPassesTable } from '../database/tables.ts';
import type { FeedbackStore, PassRow } from '../feedback-store.ts';
import { listSlices, planSlices } from './slices.ts';

type Db = Kysely<FeedbackDatabase>;
type BeginPass = Parameters<FeedbackStore['beginPass']>[0];
type PassResult = Parameters<FeedbackStore['finishPass']>[1];
type Row = Selectable<SyncPassesTable>;

/** Inserts the row of a pass and its first slices unless it exists: whoever comes second joins it at its position. */
export async function beginPass(db: Transaction<FeedbackDatabase>, pass: BeginPass): Promise<PassRow> {
  await db
    .insertInto('sync_passes')
    .values({
      pass_id: pass.passId,
      org_id: pass.org,
      project_id: pass.project,
      pass: pass.pass,
      workflow_id: pass.workflowId,
      run_id: pass.runId,
      date_from: pass.dateFrom,
      date_to: pass.dateTo,
      started_at: pass.startedAt.toISOString(),
      outcome: 'running',
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = await existingPass(db, pass.passId);
  if (row.outcome === 'running' && (await listSlices(db, pass.passId)).length === 0) {
    const { dateFrom, dateTo } = pass;
    const walk: PlannedSlice = { ...everything, dateFrom, dateTo, stage: 'read', expectedPages: null };
    await planSlices(db, pass.passId, pass.slices ?? [walk]);
  }
  return passRow(await existingPass(db, pass.passId));
}

export async function getPass(db: Db, passId: string): Promise<PassRow | null> {
  const row = await findPass(db, passId);
  return row === undefined ? null : passRow(row);
}

/** Adds requests that led to no page, and refusals, to the pass's row. */
export async function countRequests(
  db: Transaction<FeedbackDatabase>,
  passId: string,
  spent: { requests: number; throttled: number },
): Promise<PassRow> {
  await db
    .updateTable('sync_passes')
    .set((row) => ({
      requests: row('requests', '+', spent.requests),
      throttled: row('throttled', '+', spent.throttled),
    }))
    .where('pass_id', '=', passId)
    .execute();
  return passRow(await existingPass(db, passId));
}

/**
 * Ends a pass; one that has ended already stays as it is. A pass whose last page was not committed can't be completed:
 * its watermark would cover entries nobody fetched (S3).
 */
export async function finishPass(
  db: Transaction<FeedbackDatabase>,
  passId: string,
  result: PassResult,
): Promise<PassRow> {
  const row = await existingPass(db, passId);
  if (row.outcome !== 'running') return passRow(row);
  if (result.outcome === 'completed' && row.complete === 0) {
    throw new Error(`pass ${passId} cannot be completed: page ${row.pages + 1} was not committed`);
  }
  const held = await watermark(db, row.org_id, row.project_id);
  await db
    .updateTable('sync_passes')
    .set({
      outcome: result.outcome,
      error: storedTextOrNull(result.error),
      waited_ms: result.waitedMs,
      finished_at: result.finishedAt.toISOString(),
      watermark: result.outcome === 'completed' ? watermarkAfter(row, held) : null,
    })
    .where('pass_id', '=', passId)
    // Somebody else may have ended it since it was looked at.
    .where('outcome', '=', 'running')
    .execute();
  for (const table of ['sync_cursors', 'sync_slices'] as const) {
    await db.deleteFrom(table).where('pass_id', '=', passId).execute();
  }
  return passRow(await existingPass(db, passId));
}

/**
 * Greatest `createdAt` up to which passes that completed have read without a gap (S4), UTC ISO 8601.
 * @see watermarkAfter
 */
export async function watermark(db: Db, org: string, project: string): Promise<string | null> {
  const { greatest } = await db
    .selectFrom('sync_passes')
    .select((row) => row.fn.max('watermark').as('greatest'))
    .where('org_id', '=', org)
    .where('project_id', '=', project)
    .where('outcome', '=', 'completed')
    .executeTakeFirstOrThrow();
  return greatest;
}

/**
 * A pass moves the watermark only from where it joins on to what was read before: one that began later than the
 * watermark (`--from`) leaves a gap, a review reads some statuses only, and a `verify` some dates.
 */
function watermarkAfter(row: Row, held: string | null): string | null {
  const from = createdAtUtc(row.date_from);
  const joins = row.date_from === null || (from !== null && held !== null && from <= held);
  if (row.pass === 'review' || row.pass === 'verify' || !joins) return null;
  return (row.greatest_created_at ?? '') > (held ?? '') ? row.greatest_created_at : held;
}

/** Only a sweep without bounds has swept a project. */
export async function everSwept(db: Db, org: string, project: string): Promise<boolean> {
  const swept = await db
    .selectFrom('sync_passes')
    .select('pass_id')
    .where('org_id', '=', org)
    .where('project_id', '=', project)
    .where('pass', '=', 'sweep')
    .where('outcome', '=', 'completed')
    .where('date_from', 'is', null)
    .where('date_to', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return swept !== undefined;
}

/** Newest first; all of them without `limit`. */
export async function listPasses(
  db: Db,
  { org, project, limit }: { org?: string; project?: string; limit?: number },
): Promise<PassRow[]> {
  const rows = await db
    .selectFrom('sync_passes')
    .selectAll()
    .$if(org !== undefined, (query) => query.where('org_id', '=', org ?? ''))
    .$if(project !== undefined, (query) => query.where('project_id', '=', project ?? ''))
    .orderBy('started_at', 'desc')
    .orderBy('pass_id', 'desc')
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0))
    .execute();
  return rows.map(passRow);
}

async function existingPass(db: Db, passId: string): Promise<Row> {
  const row = await findPass(db, passId);
  if (row === undefined) throw new Error(`no sync pass ${passId} in this store`);
  return row;
}

/** The row of a pass, held against everybody else until the transaction ends: on every database, a write does that. */
export async function lockedPass(db: Transaction<FeedbackDatabase>, passId: string): Promise<Row> {
  await db
    .updateTable('sync_passes')
    .set((row) => ({ pages: row.ref('pages') }))
    .where('pass_id', '=', passId)
    .execute();
  return await existingPass(db, passId);
}

async function findPass(db: Db, passId: string): Promise<Row | undefined> {
  return await db.selectFrom('sync_passes').selectAll().where('pass_id', '=', passId).executeTakeFirst();
}

function passRow(row: Row): PassRow {
  const { seen, inserted, updated, unchanged, rejected, tombstoned } = row;
  return {
    passId: row.pass_id,
    org: row.org_id,
    project: row.project_id,
    pass: row.pass,
    workflowId: row.workflow_id,
    runId: row.run_id,
    dateFrom: row.date_from,
    dateTo: row.date_to,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    outcome: row.outcome,
    error: row.error,
    pages: row.pages,
    requests: row.requests,
    throttled: row.throttled,
    waitedMs: Number(row.waited_ms),
    entries: { seen, inserted, updated, unchanged, rejected, tombstoned },
    greatestCreatedAt: row.greatest_created_at,
    expectedPages: row.expected_pages,
    position: { page: row.pages, cursor: row.next_cursor, complete: row.complete === 1 },
  };
}
