import type { Kysely } from 'kysely';
import type { FeedbackDatabase } from '../store/tables.ts';

type Db = Kysely<FeedbackDatabase>;

/**
 * Whether an entry without a readable id has come since: it may be any of those that seem to be missing, so nothing is
 * shown to be gone.
 */
export async function cameWithoutId(db: Db, project: string, since: string): Promise<boolean> {
  const row = await rejectsSince(db, project, since)
    .where((reject) => reject.or([reject('id', 'like', 'sha256:%'), reject('id', 'like', 'hmac-sha256:%')]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Whether every entry that has come since had a readable id, and none that is stored came in a form that cannot be
 * understood, which would leave an old version of it.
 */
export async function allReadableSince(db: Db, project: string, since: string): Promise<boolean> {
  if (await cameWithoutId(db, project, since)) return false;
  const row = await rejectsSince(db, project, since)
    .where('id', 'in', (stored) => stored.selectFrom('feedback').select('id').where('project_id', '=', project))
    .limit(1)
    .executeTakeFirst();
  return row === undefined;
}

function rejectsSince(db: Db, project: string, since: string) {
  return db.selectFrom('feedback_rejects').select('id').where('project_id', '=', project).where('seen_at', '>=', since);
}
