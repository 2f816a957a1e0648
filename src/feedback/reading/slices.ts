import type { Selectable } from 'kysely';
import { expectedPagesOf } from '../rules/plan-slices.ts';
import type { PassSlice, PlannedSlice, ResumedSlice, SliceStage } from '../rules/slice.ts';
import type { Db, FeedbackDatabase, Trx } from '../store/tables.ts';
import { columnsOf, fieldsOf } from '../store/tables.ts';

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
