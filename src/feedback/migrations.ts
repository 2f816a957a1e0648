import { type Kysely, type Migration, Migrator } from 'kysely';
import { firstTables } from './migrations/0001-first-tables.ts';
import { feedbackByDate } from './migrations/0002-feedback-by-date.ts';
import { slices } from './migrations/0004-slices.ts';
import type { FeedbackDatabase } from './schema.ts';

/** In the order of their names. A migration that was released is never changed again. */
const migrations: Readonly<Record<string, Migration>> = {
  '0001-first-tables': firstTables,
  '0002-feedback-by-date': feedbackByDate,
  '0004-slices': slices,
};

/** What a database holds before it is migrated. */
export type SchemaState = 'empty' | 'ours' | 'newer' | 'foreign';

/** Tells our own database from one made by a later version of docferry or by another program. Writes nothing. */
export async function schemaState(db: Kysely<FeedbackDatabase>): Promise<SchemaState> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  const names = new Set(tables.map((table) => table.name));
  if (names.size === 0) return 'empty';
  if (!names.has('kysely_migration')) return 'foreign';
  const records = db.withTables<{ kysely_migration: { name: string } }>();
  const applied = await records.selectFrom('kysely_migration').select('name').execute();
  if (applied.every((record) => migrations[record.name] !== undefined)) return 'ours';
  return names.has('store_identity') ? 'newer' : 'foreign';
}

/** Brings the tables up to date, in one transaction. Safe to repeat and to run in several processes at once. */
export async function migrate(db: Kysely<FeedbackDatabase>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}
