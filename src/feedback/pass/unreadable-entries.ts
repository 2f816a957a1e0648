import type { Kysely } from 'kysely';
import type { FeedbackDatabase } from '../database/tables.ts';

type Db = Kysely<FeedbackDatabase>;

/** A project, and the moment from which on its readings are looked at, in UTC ISO 8601. */
interface Since {
  project: string;
  since: string;
}

/**
 * Whether an entry without a readable id has come since: it may be any of those that seem to be missing, so that nothing
 * is shown to be gone.
 */
export async function cameWithoutId(db: Db, { project, since }: Since): Promise<boolean> {
  const row = await rejectsSince(db, { project, since })
    .where((reject) => reject.or([reject('id', 'like', 'sha256:%'), reject('id', 'like', 'hmac-sha256:%')]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether an entry that is held has come since in a form that cannot be understood: what is held of it may be old. */
export async function heldCameUnreadable(db: Db, { project, since }: Since): Promise<boolean> {
  const row = await rejectsSince(db, { project, since })
    .where('id', 'in', (held) => held.selectFrom('feedback').select('id').where('project_id', '=', project))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

function rejectsSince(db: Db, { project, since }: Since) {
  return db.selectFrom('feedback_rejects').select('id').where('project_id', '=', project).where('seen_at', '>=', since);
}
