import type { Kysely, Migration } from 'kysely';

/** What the passes of S4 keep: their slices, how a service behaves, and since when which dates are proved. */
export const slices: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('sync_passes').addColumn('expected_pages', 'integer').execute();
    await createSyncSlices(db);
    await db.schema
      .createTable('sync_traits')
      .addColumn('org_id', 'text', (c) => c.notNull())
      .addColumn('project_id', 'text', (c) => c.notNull())
      .addColumn('coarse_dates', 'integer', (c) => c.notNull().defaultTo(0))
      .addPrimaryKeyConstraint('sync_traits_key', ['org_id', 'project_id'])
      .execute();
    await db.schema
      .createTable('verified_ranges')
      .addColumn('org_id', 'text', (c) => c.notNull())
      .addColumn('project_id', 'text', (c) => c.notNull())
      .addColumn('place', 'integer', (c) => c.notNull())
      .addColumn('undated', 'integer', (c) => c.notNull())
      .addColumn('date_from', 'text')
      .addColumn('date_to', 'text')
      .addColumn('verified_up_to', 'text')
      .addPrimaryKeyConstraint('verified_ranges_key', ['org_id', 'project_id', 'place'])
      .execute();
  },
};

async function createSyncSlices(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sync_slices')
    .addColumn('pass_id', 'text', (c) => c.notNull().references('sync_passes.pass_id').onDelete('cascade'))
    .addColumn('slice', 'integer', (c) => c.notNull())
    .addColumn('stage', 'text', (c) => c.notNull())
    .addColumn('date_from', 'text')
    .addColumn('date_to', 'text')
    .addColumn('source', 'text')
    .addColumn('statuses', 'text')
    .addColumn('expected_pages', 'integer')
    .addColumn('outcome', 'text', (c) => c.notNull())
    .addColumn('started_at', 'text')
    .addColumn('pages', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('entries', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('repeats', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('barren_pages', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('entry_order', 'text')
    .addColumn('oldest_seen', 'text')
    .addColumn('newest_seen', 'text')
    .addColumn('reached', 'text')
    .addColumn('undated_place', 'text')
    .addColumn('joins_at', 'text')
    .addColumn('slack_ms', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('last_cursor', 'text')
    .addColumn('last_digest', 'text')
    .addColumn('verified', 'integer', (c) => c.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('sync_slices_key', ['pass_id', 'slice'])
    .execute();
}
