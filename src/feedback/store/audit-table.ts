import { type Kysely, type Migration, sql } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/** The table of what people did by hand. */
export const auditTable: Migration = {
  async up(db: Kysely<FeedbackDatabase>): Promise<void> {
    const text = isPostgres(db) ? 'text collate "C"' : 'text';
    const columns = ['at', 'action', 'who', 'detail'].map((name) => `${name} ${text} not null`);
    const optional = ['org_id', 'subject', 'reason', 'workflow_id'].map((name) => `${name} ${text}`);
    await sql
      .raw(`create table audit (deed_id ${text} primary key, ${[...columns, ...optional].join(', ')})`)
      .execute(db);
    await sql.raw('create index audit_by_time on audit (at, deed_id)').execute(db);
  },
};
