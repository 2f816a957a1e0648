import { type Kysely, type Migration, sql } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/** What people have been told of. PostgreSQL compares text by its bytes, as in `firstTables`. */
export const noticesTable: Migration = {
  async up(db: Kysely<FeedbackDatabase>): Promise<void> {
    const text = isPostgres(db) ? statement.replaceAll(/ text\b/g, ' text collate "C"') : statement;
    await sql.raw(text).execute(db);
  },
};

const statement = `create table notices (
    org_id text not null,
    type text not null,
    subject text not null,
    open integer not null,
    since text not null,
    until text,
    mark text,
    changed_by text not null,
    changed_at text not null,
    constraint notices_key primary key (org_id, type, subject))`;
