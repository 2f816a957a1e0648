import type { Selectable } from 'kysely';
import {
  createdAtUtc,
  type EntryCounts,
  type FeedbackEntry,
  type RejectedEntry,
  storedTextOrNull,
} from '../rules/feedback-entry.ts';
import { expectedPagesOf } from '../rules/plan-slices.ts';
import { everything, type PassSlice, type PlannedSlice, type ResumedSlice, type SliceStage } from '../rules/slice.ts';
import type { PassOutcome } from '../rules/sync.ts';
import { matching, ofProject } from '../store/queries.ts';
import type { RunFilter } from '../store/run-records.ts';
import { columnsOf, type Db, type FeedbackDatabase, fieldsOf, type Trx } from '../store/tables.ts';

/** A pass as its row says, with the counts of its entries and its position together. */
export type PassRow = ReturnType<typeof passRow>;

/** How far a pass has come with the pages stored so far. */
export interface PassPosition {
  page: number;
  /** Cursor of the next page; null before the first page of a slice and after the last one. */
  cursor: string | null;
  /** True when the last page is stored. */
  complete: boolean;
}

type NewPass = Pick<PassRow, 'passId' | 'org' | 'project' | 'pass' | 'workflowId' | 'runId' | 'dateFrom' | 'dateTo'> & {
  startedAt: Date;
  /** What the pass begins with; by default one walk over its dates. */
  slices?: readonly PlannedSlice[];
};

interface PassResult {
  outcome: 'completed' | 'failed' | 'cancelled';
  error: string | null;
  waitedMs: number;
  finishedAt: Date;
}

/** Which passes are meant: all without a field. */
interface PassFilter extends Omit<RunFilter, 'domain' | 'outcome'> {
  project?: string;
  outcome?: PassOutcome;
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

/** Another attempt has stored the page in the meantime: read the position again. */
export class StalePosition extends Error {
  override readonly name = 'StalePosition';
}

/** Inserts the row of a pass and its first slices unless it exists: a second attempt joins it at its position. */
export async function beginPass(db: Trx, pass: NewPass): Promise<PassRow> {
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
    await appendPlanned(db, pass.passId, pass.slices ?? [walk]);
  }
  return await existingPass(db, pass.passId);
}

export async function getPass(db: Db, passId: string): Promise<PassRow | null> {
  const row = await db.selectFrom('sync_passes').selectAll().where('pass_id', '=', passId).executeTakeFirst();
  return row === undefined ? null : passRow(row);
}

/** Adds requests that led to no page, and refusals, to the pass's row. */
export async function countRequests(
  db: Trx,
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
  return await existingPass(db, passId);
}

/** Ends a pass unless it has ended. Without its last page it is not completed: the watermark would cover a gap (S3). */
export async function finishPass(db: Trx, passId: string, result: PassResult): Promise<PassRow> {
  const pass = await existingPass(db, passId);
  if (pass.outcome !== 'running') return pass;
  if (result.outcome === 'completed' && !pass.position.complete) {
    throw new Error(`pass ${passId} cannot be completed: page ${pass.pages + 1} was not committed`);
  }
  const before = await watermark(db, pass.org, pass.project);
  await db
    .updateTable('sync_passes')
    .set({
      outcome: result.outcome,
      error: storedTextOrNull(result.error),
      waited_ms: result.waitedMs,
      finished_at: result.finishedAt.toISOString(),
      watermark: result.outcome === 'completed' ? watermarkAfter(pass, before) : null,
    })
    .where('pass_id', '=', passId)
    // Another attempt may have ended it in the meantime.
    .where('outcome', '=', 'running')
    .execute();
  for (const table of ['sync_cursors', 'sync_slices'] as const) {
    await db.deleteFrom(table).where('pass_id', '=', passId).execute();
  }
  return await existingPass(db, passId);
}

/** Greatest `createdAt` up to which completed passes have read without a gap (S4, `watermarkAfter`), UTC ISO 8601. */
export async function watermark(db: Db, org: string, project: string): Promise<string | null> {
  const { greatest } = await db
    .selectFrom('sync_passes')
    .select((row) => row.fn.max('watermark').as('greatest'))
    .where(ofProject(org, project))
    .where('outcome', '=', 'completed')
    .executeTakeFirstOrThrow();
  return greatest;
}

/** Only a pass that joins what was read before moves it: a later `--from` leaves a gap, a review reads few statuses. */
function watermarkAfter({ pass, dateFrom, greatestCreatedAt }: PassRow, before: string | null): string | null {
  const from = createdAtUtc(dateFrom);
  const joins = dateFrom === null || (from !== null && before !== null && from <= before);
  if (pass === 'review' || !joins) return null;
  return (greatestCreatedAt ?? '') > (before ?? '') ? greatestCreatedAt : before;
}

/** Only a sweep without bounds has swept a project. */
export async function everSwept(db: Db, org: string, project: string): Promise<boolean> {
  const swept = await db
    .selectFrom('sync_passes')
    .select('pass_id')
    .where(ofProject(org, project))
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
  { org, project, outcome, since, endedSince, limit }: PassFilter,
): Promise<PassRow[]> {
  const rows = await db
    .selectFrom('sync_passes')
    .selectAll()
    .where(matching({ org_id: org, project_id: project, outcome }))
    .$if(since !== undefined, (query) => query.where('started_at', '>=', since ?? ''))
    .$if(endedSince !== undefined, (query) => query.where('finished_at', '>=', endedSince ?? ''))
    .orderBy(endedSince === undefined ? 'started_at' : 'finished_at', 'desc')
    .orderBy('pass_id', 'desc')
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0))
    .execute();
  return rows.map(passRow);
}

async function existingPass(db: Db, passId: string): Promise<PassRow> {
  const pass = await getPass(db, passId);
  if (pass === null) throw new Error(`no sync pass ${passId} in this store`);
  return pass;
}

/** The row of a pass, locked until the transaction ends: on every database, a write does that. */
export async function lockedPass(db: Trx, passId: string): Promise<PassRow> {
  await db
    .updateTable('sync_passes')
    .set((row) => ({ pages: row.ref('pages') }))
    .where('pass_id', '=', passId)
    .execute();
  return await existingPass(db, passId);
}

export function passRow(row: Selectable<FeedbackDatabase['sync_passes']>) {
  const { orgId: org, projectId: project, nextCursor, complete, watermark: _, waitedMs, ...fields } = fieldsOf(row);
  const { seen, inserted, updated, unchanged, rejected, tombstoned, ...pass } = fields;
  return {
    ...pass,
    org,
    project,
    waitedMs: Number(waitedMs),
    entries: { seen, inserted, updated, unchanged, rejected, tombstoned } satisfies EntryCounts,
    position: { page: pass.pages, cursor: nextCursor, complete: complete === 1 } satisfies PassPosition,
  };
}

/** Whether the service was found to take date-times for their dates: narrow windows then return nothing. */
export async function datesAreCoarse(db: Db, org: string, project: string): Promise<boolean> {
  const traits = await db
    .selectFrom('sync_traits')
    .select('coarse_dates')
    .where(ofProject(org, project))
    .executeTakeFirst();
  return traits?.coarse_dates === 1;
}

export async function noteCoarseDates(db: Trx, org: string, project: string, coarse: boolean): Promise<void> {
  if ((await datesAreCoarse(db, org, project)) !== coarse) {
    await db
      .updateTable('refresh_projects')
      .set({ reshaped: 1, exact_dates: 0 })
      .where(ofProject(org, project))
      .execute();
  }
  await db
    .insertInto('sync_traits')
    .values({ org_id: org, project_id: project, coarse_dates: Number(coarse) })
    .onConflict((conflict) => conflict.columns(['org_id', 'project_id']).doUpdateSet({ coarse_dates: Number(coarse) }))
    .execute();
}

/** The slice that is being read, else the next one; null when there is none left. */
export async function currentSlice(db: Db, passId: string): Promise<PassSlice | null> {
  const row = await slicesOf(db, passId)
    .where('outcome', 'in', ['planned', 'reading', 'checking'])
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : passSlice(row);
}

/** All slices of a pass in the order in which they were planned. */
export async function listSlices(db: Db, passId: string): Promise<PassSlice[]> {
  return (await slicesOf(db, passId).execute()).map(passSlice);
}

/** Adds slices to the end of a pass and counts what they are expected to cost. */
export async function appendPlanned(db: Trx, passId: string, slices: readonly PlannedSlice[]): Promise<void> {
  await addSlices(db, passId, slices);
  await countExpected(db, passId);
}

/** Adds slices to the end of a pass. Those that continue others are part of what these were expected to cost. */
export async function addSlices(
  db: Trx,
  passId: string,
  slices: readonly (PlannedSlice & Partial<ResumedSlice>)[],
): Promise<void> {
  const { latest } = await db
    .selectFrom('sync_slices')
    .select((row) => row.fn.max('slice').as('latest'))
    .where('pass_id', '=', passId)
    .executeTakeFirstOrThrow();
  for (const [index, planned] of slices.entries()) {
    const { stage, dateFrom, dateTo, source, statuses, expectedPages } = planned;
    const { order = null, joinsAt = null, slackMs = 0 } = planned;
    await db
      .insertInto('sync_slices')
      .values({
        ...columnsOf({ passId, stage, dateFrom, dateTo, source, expectedPages, joinsAt, slackMs }),
        slice: Number(latest ?? 0) + index + 1,
        statuses: statuses?.join(',') ?? null,
        entry_order: order,
        outcome: 'planned',
      })
      .execute();
  }
}

export async function writeSlice(db: Trx, passId: string, { order, statuses, ...slice }: PassSlice): Promise<void> {
  await db
    .updateTable('sync_slices')
    .set({ ...columnsOf(slice), entry_order: order, statuses: statuses?.join(',') ?? null })
    .where('pass_id', '=', passId)
    .where('slice', '=', slice.slice)
    .execute();
}

/** Drops slices of some stages that have not begun. */
export async function dropPlanned(db: Trx, passId: string, stages: readonly SliceStage[]): Promise<void> {
  await db
    .deleteFrom('sync_slices')
    .where('pass_id', '=', passId)
    .where('stage', 'in', stages)
    .where('outcome', '=', 'planned')
    .execute();
  await countExpected(db, passId);
}

async function countExpected(db: Trx, passId: string): Promise<void> {
  const planned = (await listSlices(db, passId)).filter(({ joinsAt }) => joinsAt === null);
  await db
    .updateTable('sync_passes')
    .set({ expected_pages: expectedPagesOf(planned) })
    .where('pass_id', '=', passId)
    .execute();
}

function slicesOf(db: Db, passId: string) {
  return db.selectFrom('sync_slices').selectAll().where('pass_id', '=', passId).orderBy('slice');
}

function passSlice({ pass_id, verified, ...row }: Selectable<FeedbackDatabase['sync_slices']>): PassSlice {
  const { entryOrder: order, statuses, slackMs, ...fields } = fieldsOf(row);
  return { ...fields, order, statuses: statuses?.split(',') ?? null, slackMs: Number(slackMs) };
}
