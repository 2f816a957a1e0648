import { type Kysely, type Migration, Migrator } from 'kysely';
import { FeedbackStoreUnavailable } from './feedback-store-unavailable.ts';
import { auditTable } from './audit-table.ts';
import { firstTables } from './first-tables.ts';
import { noticesTable } from './notices-table.ts';
import { retiredIdentities } from './retired-identities.ts';
import { searchTables } from './search-tables.ts';
import type { FeedbackDatabase } from './tables.ts';

/** Where the query builder's migrator records the migrations it has applied. */
export const migrationTable = 'kysely_migration';

/** In the order of their names. A migration that was released is never changed again. */
const migrations: Readonly<Record<string, Migration>> = {
  '0001-first-tables': firstTables,
  '0002-retired-identities': retiredIdentities,
  '0003-audit': auditTable,
  '0004-notices': noticesTable,
  '0005-search': searchTables,
};

/** The state of a database before it is migrated. `behind`: our tables, without a migration of this version. */
export type SchemaState = 'empty' | 'behind' | 'current' | 'newer' | 'foreign';

/**
 * Distinguishes our own database from one made by a later version of docferry or by another program, by the names of the
 * tables in it. Writes nothing.
 */
export async function schemaState(db: Kysely<FeedbackDatabase>, tables: ReadonlySet<string>): Promise<SchemaState> {
  if (tables.size === 0) return 'empty';
  if (!tables.has(migrationTable)) return 'foreign';
  const applied = await appliedMigrations(db);
  if (applied.every((name) => migrations[name] !== undefined)) {
    return applied.length === Object.keys(migrations).length ? 'current' : 'behind';
  }
  return tables.has('store_identity') ? 'newer' : 'foreign';
}

/**
 * Throws when a later version of docferry has migrated the tables since this process opened them: what it would write lacks
 * what that version keeps beside it, such as the words of an entry.
 */
export async function refuseNewer(db: Kysely<FeedbackDatabase>, place: string): Promise<void> {
  const applied = await appliedMigrations(db);
  if (applied.some((name) => migrations[name] === undefined)) throw newerTables(place);
}

export function newerTables(place: string): FeedbackStoreUnavailable {
  return new FeedbackStoreUnavailable(
    place,
    'a newer docferry has changed its tables',
    'Run that version or a later one, or restore a backup made before the upgrade.',
  );
}

async function appliedMigrations(db: Kysely<FeedbackDatabase>): Promise<string[]> {
  const records = db.withTables<{ [migrationTable]: { name: string } }>();
  const applied = await records.selectFrom(migrationTable).select('name').execute();
  return applied.map(({ name }) => name);
}

/**
 * Brings the tables up to date, in one transaction. Safe to repeat and to run in several processes at once. `schema` is
 * where the tables are, on databases that have several.
 */
export async function migrate(db: Kysely<FeedbackDatabase>, schema?: string): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}
