import { type Kysely, type Migration, sql } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import { makeTables } from './make-tables.ts';
import type { FeedbackDatabase } from './tables.ts';

/**
 * The index of feedback search (feedback-search.md): `search_entries` has the words of an entry under its place in the
 * order of answers; `search_progress` says how many of the entries that were stored before the index existed have been
 * added. Both come from `feedback` and can be rebuilt.
 */
export const searchTables: Migration = {
  async up(db: Kysely<FeedbackDatabase>): Promise<void> {
    await makeTables(db, isPostgres(db) ? statements('bigint', 'tsvector') : statements('integer', 'text'));
    await makeTables(db, isPostgres(db) ? onPostgres : onSqlite);
    const { rows } = await sql`select 1 from feedback limit 1`.execute(db);
    const progress = {
      only_row: 1,
      project_id: '',
      id: '',
      passed: 0,
      entries: 0,
      complete: Number(rows.length === 0),
    };
    await db
      .insertInto('search_progress')
      .values({ ...progress, cleaned_at: null })
      .execute();
  },
};

const statements = (place: 'integer' | 'bigint', words: 'text' | 'tsvector') => [
  `create table search_entries (
    place ${place} primary key,
    project_id text not null,
    id text not null,
    first_seen_ms bigint not null,
    words ${words} not null,
    constraint search_entries_entry foreign key (project_id, id)
      references feedback (project_id, id) on delete cascade)`,
  'create unique index search_entries_by_entry on search_entries (project_id, id)',
  // Finds what is new since a moment, without looking at every hit.
  'create index search_entries_by_first_sight on search_entries (first_seen_ms)',

  `create table search_progress (
    only_row integer primary key,
    project_id text not null,
    id text not null,
    passed integer not null,
    entries integer not null,
    complete integer not null,
    cleaned_at text)`,
];

/**
 * The tokenizer splits at blanks alone: the words are ready. `secure-delete` takes removed words out of the index itself
 * instead of noting them as removed.
 */
const onSqlite = [
  `create virtual table search_words using fts5(
    words, content='search_entries', content_rowid='place', columnsize=0, tokenize="ascii tokenchars '=~'")`,
  `insert into search_words (search_words, rank) values ('secure-delete', 1)`,
  `create trigger search_entries_added after insert on search_entries begin
    insert into search_words (rowid, words) values (new.place, new.words);
  end`,
  `create trigger search_entries_removed after delete on search_entries begin
    insert into search_words (search_words, rowid, words) values ('delete', old.place, old.words);
  end`,
];

const onPostgres = ['create index search_entries_by_word on search_entries using gin (words)'];
