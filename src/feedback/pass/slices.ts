import type { Kysely, Selectable, Transaction } from 'kysely';
import { expectedPagesOf } from '../../model/sync/pass-slices.ts';
import type { PlannedSlice } from '../../model/sync/slice.ts';
import type { FeedbackDatabase, SyncSlicesTable } from '../database/tables.ts';
import type { PassSlice } from '../feedback-store.ts';

type Db = Kysely<FeedbackDatabase>;

/** What a slice takes over from the one it goes on for. */
export interface Resumed {
  order: PassSlice['order'];
  joinsAt: string | null;
  slackMs: number;
}

/** The slice that is being read, else the one that is next; null when there is none left. */
export async function currentSlice(db: Db, passId: string): Promise<PassSlice | null> {
  const row = await db
    .selectFrom('sync_slices')
    .selectAll()
    .where('pass_id', '=', passId)
    .where('outcome', 'in', ['planned', 'reading', 'checking'])
    .orderBy('slice')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : passSlice(row);
}

export async function listSlices(db: Db, passId: string): Promise<PassSlice[]> {
  const rows = await db.selectFrom('sync_slices').selectAll().where('pass_id', '=', passId).orderBy('slice').execute();
  return rows.map(passSlice);
}

/** Adds slices to the end of a pass and tells its row what they are expected to cost. */
export async function planSlices(
  db: Transaction<FeedbackDatabase>,
  passId: string,
  slices: readonly PlannedSlice[],
  resumed?: Resumed,
): Promise<void> {
  const { latest } = await db
    .selectFrom('sync_slices')
    .select((row) => row.fn.max('slice').as('latest'))
    .where('pass_id', '=', passId)
    .executeTakeFirstOrThrow();
  for (const [index, slice] of slices.entries()) {
    await db
      .insertInto('sync_slices')
      .values({
        pass_id: passId,
        slice: Number(latest ?? 0) + index + 1,
        stage: slice.stage,
        date_from: slice.dateFrom,
        date_to: slice.dateTo,
        source: slice.source,
        statuses: slice.statuses?.join(',') ?? null,
        expected_pages: slice.expectedPages,
        outcome: 'planned',
        entry_order: resumed?.order ?? null,
        joins_at: resumed?.joinsAt ?? null,
        slack_ms: resumed?.slackMs ?? 0,
      })
      .execute();
  }
  if (resumed === undefined) await countExpected(db, passId);
}

export async function updateSlice(
  db: Transaction<FeedbackDatabase>,
  passId: string,
  slice: number,
  changes: Partial<Selectable<SyncSlicesTable>>,
): Promise<void> {
  await db.updateTable('sync_slices').set(changes).where('pass_id', '=', passId).where('slice', '=', slice).execute();
}

/** Takes back what is planned of a stage and not begun. */
export async function dropPlanned(
  db: Transaction<FeedbackDatabase>,
  passId: string,
  stage: PassSlice['stage'],
): Promise<void> {
  await db
    .deleteFrom('sync_slices')
    .where('pass_id', '=', passId)
    .where('stage', '=', stage)
    .where('outcome', '=', 'planned')
    .execute();
  await countExpected(db, passId);
}

/** Slices that go on for another are part of what that one was expected to cost. */
async function countExpected(db: Transaction<FeedbackDatabase>, passId: string): Promise<void> {
  const planned = (await listSlices(db, passId)).filter(({ joinsAt }) => joinsAt === null);
  await db
    .updateTable('sync_passes')
    .set({ expected_pages: expectedPagesOf(planned) })
    .where('pass_id', '=', passId)
    .execute();
}

function passSlice(row: Selectable<SyncSlicesTable>): PassSlice {
  return {
    slice: row.slice,
    stage: row.stage,
    dateFrom: row.date_from,
    dateTo: row.date_to,
    source: row.source,
    statuses: row.statuses?.split(',') ?? null,
    expectedPages: row.expected_pages,
    outcome: row.outcome,
    startedAt: row.started_at,
    pages: row.pages,
    entries: row.entries,
    repeats: row.repeats,
    order: row.entry_order,
    oldestSeen: row.oldest_seen,
    newestSeen: row.newest_seen,
    reached: row.reached,
    undatedPlace: row.undated_place,
    joinsAt: row.joins_at,
    slackMs: Number(row.slack_ms),
    lastCursor: row.last_cursor,
    lastDigest: row.last_digest,
    barrenPages: row.barren_pages,
  };
}
