import type { Transaction } from 'kysely';
import type { Coverage } from '../../model/sync/slice.ts';
import { heldEntries, type ProjectKey } from '../database/held-entries.ts';
import type { FeedbackDatabase } from '../database/tables.ts';
import { cameWithoutId } from './unreadable-entries.ts';

type Db = Transaction<FeedbackDatabase>;

export interface Missing extends ProjectKey {
  passId: string;
  /** Entries last seen before are missing from every reading since. */
  unseenSince: string;
  /** When they are noted as gone. */
  at: string;
}

/** Ids a statement. */
const idsPerStatement = 500;

/**
 * Tombstones the dated entries within all of `covered` that no reading since has seen (S4). Each of `covered`
 * has to come of a complete reading of all statuses, and there have to be two.
 */
export async function tombstoneDated(db: Db, missing: Missing, covered: readonly [Coverage, Coverage]): Promise<void> {
  const froms = covered.flatMap(({ from }) => from ?? []);
  const tos = covered.flatMap(({ to }) => to ?? []);
  const rows = await unseen(db, missing)
    .where('created_at_utc', 'is not', null)
    .$if(froms.length > 0, (query) => query.where('created_at_utc', '>=', froms.sort().at(-1) ?? ''))
    .$if(tos.length > 0, (query) => query.where('created_at_utc', '<=', tos.sort()[0] ?? ''))
    .execute();
  await tombstone(db, missing, rows);
}

/** The same for entries without a date, which only a walk over everything sees. */
export async function tombstoneUndated(db: Db, missing: Missing): Promise<void> {
  await tombstone(db, missing, await unseen(db, missing).where('created_at_utc', 'is', null).execute());
}

function unseen(db: Db, missing: Missing) {
  return heldEntries(db, missing).select('id').where('last_seen_at', '<', missing.unseenSince);
}

async function tombstone(db: Db, missing: Missing, rows: readonly { id: string }[]): Promise<void> {
  const { passId, project, unseenSince, at } = missing;
  if (rows.length > 0 && (await cameWithoutId(db, { project, since: unseenSince }))) return;
  for (let start = 0; start < rows.length; start += idsPerStatement) {
    const ids = rows.slice(start, start + idsPerStatement).map(({ id }) => id);
    await db
      .updateTable('feedback')
      .set({ deleted_at: at })
      .where('project_id', '=', project)
      .where('id', 'in', ids)
      .execute();
    await db
      .insertInto('feedback_changes')
      .values(ids.map((id) => ({ project_id: project, id, field: 'deleted_at', old: null, new: at, seen_at: at })))
      .execute();
  }
  if (rows.length === 0) return;
  await db
    .updateTable('sync_passes')
    .set((row) => ({ tombstoned: row('tombstoned', '+', rows.length) }))
    .where('pass_id', '=', passId)
    .execute();
}
