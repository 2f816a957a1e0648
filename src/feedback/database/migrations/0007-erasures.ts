import type { Kysely, Migration } from 'kysely';

/** Who was erased, by a keyed hash, and the key, which each store has of its own (docs/decisions/0044). */
export const erasures: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('store_key')
      .addColumn('only_row', 'integer', (c) => c.primaryKey())
      .addColumn('key', 'text', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('erasures')
      .addColumn('erasure_id', 'text', (c) => c.primaryKey())
      .addColumn('contact', 'text', (c) => c.notNull())
      .addColumn('project_id', 'text')
      .addColumn('erased_at', 'text', (c) => c.notNull())
      .addColumn('entries', 'integer', (c) => c.notNull())
      .addColumn('changes', 'integer', (c) => c.notNull())
      .addColumn('rejects', 'integer', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('erasures_by_contact').on('erasures').column('contact').execute();
  },
};
