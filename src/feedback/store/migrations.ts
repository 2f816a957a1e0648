import { type Migration, Migrator, sql } from 'kysely';
import { FeedbackStoreUnavailable } from './feedback-store-unavailable.ts';
import { isPostgres } from './queries.ts';
import { type Db, tableStatements } from './tables.ts';

/** The tables as they were first released, and what a search needs besides them. */
const tables: Migration = {
  async up(db: Db): Promise<void> {
    const onPostgres = isPostgres(db);
    const statements = [...tableStatements(onPostgres), ...(onPostgres ? searchOnPostgres : searchOnSqlite)];
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};

/** The tokenizer splits at blanks: the words are ready. `secure-delete` takes removed words out of the index itself. */
const searchOnSqlite = [
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

const searchOnPostgres = ['create index search_entries_by_word on search_entries using gin (words)'];

/** Where the query builder's migrator records the migrations it has applied. */
export const migrationTable = 'kysely_migration';

/** In the order of their names. A migration that was released is never changed again. */
const migrations: Readonly<Record<string, Migration>> = { '0001-tables': tables };

/** The state of a database before it is migrated. `behind`: it has our tables and lacks a migration of this version. */
export type SchemaState = 'empty' | 'behind' | 'current' | 'newer' | 'foreign';

/** Tells our own database from one of a later docferry or another program by its tables' names. Writes nothing. */
export async function schemaState(db: Db, tables: ReadonlySet<string>): Promise<SchemaState> {
  if (tables.size === 0) return 'empty';
  if (!tables.has(migrationTable)) return 'foreign';
  const applied = await appliedMigrations(db);
  if (applied.length === 0) return 'empty';
  if (applied.some(isUnknown)) return tables.has('store_identity') ? 'newer' : 'foreign';
  return applied.length === Object.keys(migrations).length ? 'current' : 'behind';
}

/** Throws when a later docferry has migrated the tables meanwhile: this one would leave out what that one stores. */
export async function refuseNewer(db: Db, place: string): Promise<void> {
  if ((await appliedMigrations(db)).some(isUnknown)) throw newerTables(place);
}

function isUnknown(name: string): boolean {
  return migrations[name] === undefined;
}

export function newerTables(place: string): FeedbackStoreUnavailable {
  return new FeedbackStoreUnavailable(
    place,
    'a newer docferry has changed its tables',
    'Run that version or a later one, or restore a backup made before the upgrade.',
  );
}

async function appliedMigrations(db: Db): Promise<string[]> {
  const records = db.withTables<{ [migrationTable]: { name: string } }>();
  const applied = await records.selectFrom(migrationTable).select('name').execute();
  return applied.map(({ name }) => name);
}

/** Brings the tables (in `schema`) up to date, in one transaction; safe to repeat, also in several processes. */
export async function migrate(db: Db, schema?: string): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}
