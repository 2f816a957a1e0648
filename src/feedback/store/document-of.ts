import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from '../../sqlite.ts';
import { documentKey } from '../rules/document-key.ts';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/** Makes `documentOf` known to a connection of SQLite. */
export function addDocumentKey(database: Database): void {
  database.function('document_key', (path) => documentKey(String(path)));
}

/** The `documentKey` of an entry's `path`, computed by the database. A path that is its own key costs one comparison. */
export function documentOf(db: Kysely<FeedbackDatabase>): RawBuilder<string> {
  return isPostgres(db) ? onPostgres : onSqlite;
}

const onSqlite = sql<string>`case
  when path glob '/*[^/]' and path not glob '*[?#]*' then path
  else document_key(path)
end`;

const onPostgres = sql<string>`case
  when path ~ '^/[^?#]*[^/?#]$' or path = '' then path
  else coalesce(nullif(regexp_replace(regexp_replace(regexp_replace(
    path, '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*', ''), '[?#].*$', ''), '/+$', ''), ''), '/')
end`;
