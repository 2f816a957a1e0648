import { type SliceFindings, sliceFindings } from '../rules/fact-queries.ts';
import { storedText } from '../rules/feedback-entry.ts';
import { afterCut, ended, nextStep, type SliceStep } from '../rules/next-step.ts';
import { unindexRows } from '../search/entry-index.ts';
import { batchesOf, liveEntries, lockProject } from '../store/queries.ts';
import type { Trx } from '../store/tables.ts';
import { cameWithoutId, noteVerified, passFacts } from './pass-facts.ts';
import { noteCoarseDates, type PassRow } from './passes.ts';
import { noteRows } from './refresh-state.ts';
import { addSlices, appendPlanned, currentSlice, dropPlanned, writeSlice } from './slices.ts';

/** Notes as gone the entries that two complete readings have missed (S4), unless one of them may have come without its id. */
async function tombstone(
  db: Trx,
  { passId, org, project }: PassRow,
  { unseenSince, covered }: NonNullable<SliceFindings['gone']>,
  noticedAt: Date,
): Promise<void> {
  const unseen = liveEntries(db, { org, project }).select('id').where('last_seen_at', '<', unseenSince);
  const missing =
    covered === 'undated'
      ? unseen.where('created_at_utc', 'is', null)
      : covered.reduce(
          (rows, { from, to }) =>
            rows
              .$if(from !== null, (query) => query.where('created_at_utc', '>=', from ?? ''))
              .$if(to !== null, (query) => query.where('created_at_utc', '<=', to ?? '')),
          unseen.where('created_at_utc', 'is not', null),
        );
  const ids = (await missing.execute()).map(({ id }) => id);
  if (ids.length === 0 || (await cameWithoutId(db, project, unseenSince))) return;
  await tombstoneEntries(db, { passId, org, project }, ids, noticedAt);
}

/** Notes entries as gone, and counts them to the pass that found it. */
export async function tombstoneEntries(
  db: Trx,
  { passId, org, project }: Pick<PassRow, 'passId' | 'org' | 'project'>,
  ids: readonly string[],
  noticedAt: Date,
): Promise<void> {
  const at = noticedAt.toISOString();
  for (const batch of batchesOf(ids)) {
    const rows = await db
      .selectFrom('feedback')
      .select(['id', 'created_at_utc', 'status', 'last_seen_at', 'deleted_at'])
      .where('project_id', '=', project)
      .where('id', 'in', batch)
      .execute();
    const changes = rows.map((before) => ({ id: before.id, before, after: null, changed: true }));
    await noteRows(db, { org, project }, changes, noticedAt);
    await db
      .updateTable('feedback')
      .set({ deleted_at: at })
      .where('project_id', '=', project)
      .where('id', 'in', batch)
      .execute();
    await unindexRows(db, project, batch);
    await db
      .insertInto('feedback_changes')
      .values(batch.map((id) => ({ project_id: project, id, field: 'deleted_at', old: null, new: at, seen_at: at })))
      .execute();
  }
  if (ids.length === 0) return;
  await db
    .updateTable('sync_passes')
    .set((row) => ({ tombstoned: row('tombstoned', '+', ids.length) }))
    .where('pass_id', '=', passId)
    .execute();
}

/** Writes where a slice stands; after its end also what it shows and what the pass does next (decisions/0041). */
export async function takeStep(db: Trx, pass: PassRow, step: SliceStep, at: Date): Promise<void> {
  await writeStep(db, pass, step);
  const { slice, unshifted } = step;
  if (slice.outcome !== 'read') return;
  const { passId, org, project } = pass;
  const facts = passFacts(db, pass);
  const { gone, verified } = await sliceFindings(facts, pass, slice, unshifted);
  if (gone !== null) await tombstone(db, pass, gone, at);
  if (verified !== null) await noteVerified(db, org, project, verified);
  const next = await nextStep(facts, pass, slice);
  if (next.coarseDates !== null) await noteCoarseDates(db, org, project, next.coarseDates);
  if (next.dropped.length > 0) await dropPlanned(db, passId, next.dropped);
  if (next.slices.length > 0) await appendPlanned(db, passId, next.slices);
  if (next.complete) await db.updateTable('sync_passes').set({ complete: 1 }).where('pass_id', '=', passId).execute();
}

/** Ends the check of a slice: `same` if its last page came again unchanged, null if it was not requested. */
export async function endCheck(db: Trx, pass: PassRow, same: boolean | null, at: Date): Promise<void> {
  await lockProject(db, pass.project);
  const slice = await currentSlice(db, pass.passId);
  if (slice?.outcome === 'checking') await takeStep(db, pass, ended(slice, same === true), at);
}

/** The service refused `cursor`: if the pass stands there, a slice continues by date (S3). Throws `CannotResume`. */
export async function cutSlice(db: Trx, pass: PassRow, cursor: string): Promise<void> {
  const slice = await currentSlice(db, pass.passId);
  if (slice?.outcome !== 'reading' || pass.position.cursor !== storedText(cursor)) return;
  await writeStep(db, pass, await afterCut(passFacts(db, pass), slice));
}

async function writeStep(db: Trx, { passId }: PassRow, { slice, resumed }: SliceStep): Promise<void> {
  await writeSlice(db, passId, slice);
  if (resumed === null) return;
  await db.updateTable('sync_passes').set({ next_cursor: null }).where('pass_id', '=', passId).execute();
  await addSlices(db, passId, [resumed]);
}
