import {
  type ControlledTransaction,
  type ExpressionBuilder,
  type FilterObject,
  PostgresAdapter,
  type RawBuilder,
  type SelectQueryBuilder,
  sql,
} from 'kysely';
import type { Database } from '../../sqlite.ts';
import type { FeedbackEntry, ProjectKey } from '../rules/feedback-entry.ts';
import { createdAtUtc, storedExtra, storedText, storedTextOrNull } from '../rules/feedback-entry.ts';
import { documentKey } from '../rules/report-figures.ts';
import type { Db, FeedbackDatabase, FeedbackTable, Trx } from './tables.ts';

type OfProjects = {
  [Table in keyof FeedbackDatabase]: FeedbackDatabase[Table] extends { org_id: string; project_id: string }
    ? Table
    : never;
}[keyof FeedbackDatabase];

/** The rows of a project. */
export function ofProject<Table extends OfProjects>(org: string, project: string) {
  const columns = { org_id: org, project_id: project } as unknown as FilterObject<FeedbackDatabase, Table>;
  return ({ and }: ExpressionBuilder<FeedbackDatabase, Table>) => and(columns);
}

/** The rows whose columns have these values; a column without one may hold any. */
export function matching<Table extends keyof FeedbackDatabase>(
  columns: {
    [Column in keyof FeedbackDatabase[Table]]?: string | undefined;
  },
) {
  const given = Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
  return ({ and }: ExpressionBuilder<FeedbackDatabase, Table>) =>
    and(given as unknown as FilterObject<FeedbackDatabase, Table>);
}

/** What an insertion brings, for columns of a row that is there already. */
export function replacing<Column extends string>(columns: readonly Column[]) {
  const pairs = columns.map((column) => [column, sql.ref(`excluded.${column}`)]);
  return Object.fromEntries(pairs) as Record<Column, RawBuilder<never>>;
}

/** Not of some pages, which says nothing of the whole site (`EndDetail`): within a text the quotes would be escaped. */
export const isWholeExport = sql<boolean>`detail not like '%"limited":true%'`;

/** An export that brought or confirmed a version, even if its rollout failed. A rollback has no job, and brings nothing. */
export const bringsVersion = sql<boolean>`(outcome in ('published', 'unchanged', 'rollout-failed')
  and job_id is not null and ${isWholeExport})`;

export function isPostgres(db: Db): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

/** Rows a statement: 18 columns of 500 rows stay far below the parameters both databases allow (32,766 and 65,535). */
export const rowsPerStatement = 500;

/** Items in batches that one statement can take. */
export function batchesOf<T>(items: readonly T[]): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += rowsPerStatement) batches.push(items.slice(at, at + rowsPerStatement));
  return batches;
}

/** A transaction that sees the store at one moment and writes nothing; `rollback` ends it. */
export function openSnapshot(db: Db): Promise<ControlledTransaction<FeedbackDatabase>> {
  return db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute();
}

/** A table of any number of keys from one parameter; PostgreSQL compares them by their bytes (decisions/0030). */
export function wantedKeys(db: Db, keys: readonly (readonly string[])[], columns: number) {
  const [elements, order] = isPostgres(db) ? ['json_array_elements(', ' collate "C"'] : ['json_each(', ''];
  const values = Array.from({ length: columns }, (_, index) => sql.raw(`(value ->> ${index})${order}`));
  const type = isPostgres(db) ? sql.raw('::json') : sql.raw('');
  return sql`select ${sql.join(values)} from ${sql.raw(elements)}${JSON.stringify(keys)}${type}) as given`;
}

/** The key of a stored entry, and the bytes of its texts. */
export interface SizedKey extends Pick<FeedbackTable, 'project_id' | 'id'> {
  /** PostgreSQL hands it out as text. */
  bytes: number | string;
}

/** Bytes of text in memory at a time, also read by one statement, in which SQLite lets nothing else run. */
const bytesPerRead = 8 * 1024 * 1024;

/** The texts that the service sends of an entry, those first that name people most often. */
export const textColumns = [
  'contact',
  'comment',
  'code',
  'filename',
  'lang',
  'path',
  'created_at',
  'source',
  'status',
  'extra',
] as const;

/** The bytes of an entry's texts, which no text is read for. */
export function bytesOfTexts(table: string): RawBuilder<number | string> {
  return sql.join(
    textColumns.map((column) => sql`coalesce(octet_length(${sql.ref(`${table}.${column}`)}), 0)`),
    sql` + `,
  );
}

/** The rows of at most `rowsPerStatement` entries, in their order; entries that are gone are left out. */
export async function* readRows(db: Db, keys: readonly SizedKey[]): AsyncGenerator<FeedbackTable, void, undefined> {
  for (const batch of batchesBySize(keys)) yield* await rowsOf(db, 'feedback', batch);
}

/** A query for entries in their order, to which the caller adds conditions. */
export type EntryKeys = SelectQueryBuilder<FeedbackDatabase, 'feedback', SizedKey>;

/** Stored entries of a project, those after an id if there is one before them. */
export function entriesAfter(db: Db, project: string, after = ''): EntryKeys {
  return (
    db
      .selectFrom('feedback')
      .select(['project_id', 'id', bytesOfTexts('feedback').as('bytes')])
      .where('project_id', '=', project)
      // Without this condition SQLite is free to use an index of dates.
      .$if(after !== '', (query) => query.where('id', '>', after))
  );
}

type KeyedTable = 'feedback' | 'feedback_rejects';

/** The first rows that a query finds, as many as memory takes; `isLast` when it finds no others. */
export async function nextRows<Table extends KeyedTable>(
  db: Db,
  table: Table,
  query: SelectQueryBuilder<FeedbackDatabase, Table, SizedKey>,
): Promise<{ rows: FeedbackDatabase[Table][]; isLast: boolean }> {
  const keys = await query.limit(rowsPerStatement).execute();
  const [batch = []] = batchesBySize(keys);
  return {
    rows: await rowsOf(db, table, batch),
    isLast: batch.length === keys.length && keys.length < rowsPerStatement,
  };
}

/** Rows in batches of at most `bytesPerRead`, unless a single one has more. */
export function batchesBySize<Row extends Pick<SizedKey, 'bytes'>>(rows: readonly Row[]): Row[][] {
  const batches: Row[][] = [];
  let left = -1;
  for (const row of rows) {
    if (Number(row.bytes) > left) {
      batches.push([]);
      left = bytesPerRead;
    }
    batches.at(-1)?.push(row);
    left -= Number(row.bytes);
  }
  return batches;
}

async function rowsOf<Table extends KeyedTable>(
  db: Db,
  table: Table,
  keys: readonly SizedKey[],
): Promise<FeedbackDatabase[Table][]> {
  const wanted = keys.map(({ project_id, id }) => [project_id, id]);
  const { rows } = await sql<FeedbackDatabase[Table]>`
    with wanted (project_id, id) as (${wantedKeys(db, wanted, 2)})
    select f.* from wanted w join ${sql.table(table)} f on f.project_id = w.project_id and f.id = w.id`.execute(db);
  const found = new Map(rows.map((row) => [JSON.stringify([row.project_id, row.id]), row]));
  return wanted.flatMap((key) => found.get(JSON.stringify(key)) ?? []);
}

/** Whether the moment in a column lies between two bounds, the upper one exclusive; null or undefined for no bound. */
export function within(
  column: string,
  from: string | null | undefined,
  to: string | null | undefined,
): RawBuilder<boolean> {
  const bounds = [sql`true`];
  if (from) bounds.push(sql`${sql.ref(column)} >= ${from}`);
  if (to) bounds.push(sql`${sql.ref(column)} < ${to}`);
  return sql.join(bounds, sql` and `);
}

/** Advisory locks are numbers; those of projects are hashes of 64 bits. */
const allProjects = 7_301_180_744;

/**
 * Locks the entries of the project against other transactions until this one ends, so that what it reads first is still
 * true when it writes. Call it before the first read, and after writing the row of the pass if both are
 * needed: always in this order, so that transactions cannot deadlock. On SQLite only one transaction writes at a time.
 *
 * An advisory lock, because the rows that two passes are about to insert cannot be locked before they exist. It ends
 * with the transaction, even if the process is killed.
 */
export async function lockProject(db: Trx, project: string): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`select pg_advisory_xact_lock_shared(${allProjects})`.execute(db);
  await sql`select pg_advisory_xact_lock(hashtextextended(${project}, 0))`.execute(db);
}

/** Locks the entries of all projects until the transaction ends. Never together with `lockProject`. */
export async function lockAllProjects(db: Trx): Promise<void> {
  if (isPostgres(db)) await sql`select pg_advisory_xact_lock(${allProjects})`.execute(db);
}

/*
 * PostgreSQL plans by statistics, which it gathers only some time after a table has been filled. Without them it would
 * read or sort the whole project for each page. SQLite uses the indexes anyway.
 */

/** For the rest of the transaction, rows are read in the order of an index where there is one, not sorted. */
export async function preferIndexes(db: Trx): Promise<void> {
  if (isPostgres(db)) await sql`set local enable_sort = off`.execute(db);
}

/** Gathers statistics after the 10th, 100th, 1,000th … page of a pass, which outruns the server's own schedule. */
export async function refreshStatistics(db: Trx, page: number): Promise<void> {
  if (isPostgres(db) && /^10+$/.test(`${page}`)) await sql`analyze feedback`.execute(db);
}

/** Every entry stored of a project, tombstoned ones included. */
export function storedEntries(db: Db, { org, project }: ProjectKey) {
  return db.selectFrom('feedback').where(ofProject(org, project));
}

/** The entries that the service still has as far as docferry knows: those not tombstoned. */
export function liveEntries(db: Db, key: ProjectKey) {
  return storedEntries(db, key).where('deleted_at', 'is', null);
}

/** How many rows a query has. */
export async function countRows<Table extends keyof FeedbackDatabase>(
  query: SelectQueryBuilder<FeedbackDatabase, Table, object>,
): Promise<number> {
  const { rows } = await query
    .clearSelect()
    .clearOrderBy()
    .select((row) => row.fn.countAll().as('rows'))
    .executeTakeFirstOrThrow();
  return Number(rows);
}

/** Makes `documentOf` known to a connection of SQLite. */
export function addDocumentKey(database: Database): void {
  database.function('document_key', (path) => documentKey(String(path)));
}

/** The `documentKey` of an entry's `path`, computed by the database. A path that is its own key costs one comparison. */
export function documentOf(db: Db): RawBuilder<string> {
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

/** What the service sends of an entry, as columns; the others say when docferry saw it. */
export type Content = Omit<FeedbackTable, 'first_seen_at' | 'last_seen_at' | 'deleted_at'>;

export function entryContent(entry: FeedbackEntry, org: string, project: string): Content {
  return {
    org_id: org,
    project_id: project,
    id: storedText(entry.id),
    path: storedText(entry.path),
    comment: storedTextOrNull(entry.comment),
    created_at: storedTextOrNull(entry.createdAt),
    created_at_utc: createdAtUtc(entry.createdAt),
    source: storedText(entry.source),
    status: storedText(entry.status),
    helpful: entry.helpful === null ? null : Number(entry.helpful),
    contact: storedTextOrNull(entry.contact),
    code: storedTextOrNull(entry.code),
    filename: storedTextOrNull(entry.filename),
    lang: storedTextOrNull(entry.lang),
    extra: storedExtra(entry.extra),
  };
}

export function sameContent(a: Content, b: Content): boolean {
  return (Object.keys(b) as (keyof Content)[]).every((column) => a[column] === b[column]);
}

/*
 * Statements that scrub removed bytes from PostgreSQL's files. Only the owner of the tables may run them.
 */

/** Old versions of rows, and the values that the planner's statistics took from them. */
export const vacuum = 'VACUUM (ANALYZE) feedback, feedback_changes, feedback_rejects, search_entries';

/** The index of words keeps each word that it ever held. */
export const reindex = 'REINDEX INDEX CONCURRENTLY search_entries_by_word';
