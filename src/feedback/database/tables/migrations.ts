import { type Kysely, type Migration, Migrator } from 'kysely';
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
  const records = db.withTables<{ [migrationTable]: { name: string } }>();
  const applied = await records.selectFrom(migrationTable).select('name').execute();
  if (applied.every((record) => migrations[record.name] !== undefined)) {
    return applied.length === Object.keys(migrations).length ? 'current' : 'behind';
  }
  return tables.has('store_identity') ? 'newer' : 'foreign';
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
