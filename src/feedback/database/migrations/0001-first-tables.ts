import type { Kysely, Migration } from 'kysely';

/**
 * The tables of contracts.md. Column types are those SQLite and PostgreSQL share: `text` and `integer`, and `bigint` for
 * a sum of milliseconds.
 */
export const firstTables: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createFeedback(db);
    await createFeedbackChanges(db);
    await createFeedbackRejects(db);
    await createSyncPasses(db);
    await createSyncCursors(db);
    await createExportRuns(db);
    await db.schema
      .createTable('store_identity')
      .addColumn('only_row', 'integer', (c) => c.primaryKey())
      .addColumn('identity', 'text', (c) => c.notNull())
      .execute();
  },
};

async function createFeedback(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('feedback')
    .addColumn('org_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('comment', 'text')
    .addColumn('created_at', 'text')
    .addColumn('created_at_utc', 'text')
    .addColumn('source', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('helpful', 'integer')
    .addColumn('contact', 'text')
    .addColumn('code', 'text')
    .addColumn('filename', 'text')
    .addColumn('lang', 'text')
    .addColumn('extra', 'text')
    .addColumn('first_seen_at', 'text', (c) => c.notNull())
    .addColumn('last_seen_at', 'text', (c) => c.notNull())
    .addColumn('deleted_at', 'text')
    .addPrimaryKeyConstraint('feedback_key', ['project_id', 'id'])
    .execute();
}

async function createFeedbackChanges(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('feedback_changes')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('field', 'text', (c) => c.notNull())
    .addColumn('old', 'text')
    .addColumn('new', 'text')
    .addColumn('seen_at', 'text', (c) => c.notNull())
    .addForeignKeyConstraint('feedback_changes_entry', ['project_id', 'id'], 'feedback', ['project_id', 'id'], (c) =>
      c.onDelete('cascade'),
    )
    .execute();
  await db.schema
    .createIndex('feedback_changes_by_entry')
    .on('feedback_changes')
    .columns(['project_id', 'id'])
    .execute();
}

async function createFeedbackRejects(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('feedback_rejects')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('raw', 'text', (c) => c.notNull())
    .addColumn('reason', 'text', (c) => c.notNull())
    .addColumn('seen_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('feedback_rejects_key', ['project_id', 'id'])
    .execute();
}

async function createSyncPasses(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sync_passes')
    .addColumn('pass_id', 'text', (c) => c.primaryKey())
    .addColumn('org_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('pass', 'text', (c) => c.notNull())
    .addColumn('workflow_id', 'text', (c) => c.notNull())
    .addColumn('run_id', 'text', (c) => c.notNull())
    .addColumn('date_from', 'text')
    .addColumn('date_to', 'text')
    .addColumn('started_at', 'text', (c) => c.notNull())
    .addColumn('finished_at', 'text')
    .addColumn('outcome', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('pages', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_cursor', 'text')
    .addColumn('complete', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('requests', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('throttled', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('waited_ms', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('seen', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('inserted', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('updated', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('unchanged', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('rejected', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('tombstoned', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('greatest_created_at', 'text')
    .addColumn('watermark', 'text')
    .execute();
  await db.schema
    .createIndex('sync_passes_by_project')
    .on('sync_passes')
    .columns(['org_id', 'project_id', 'started_at'])
    .execute();
}

async function createSyncCursors(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sync_cursors')
    .addColumn('pass_id', 'text', (c) => c.notNull().references('sync_passes.pass_id').onDelete('cascade'))
    .addColumn('digest', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('sync_cursors_key', ['pass_id', 'digest'])
    .execute();
}

async function createExportRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('export_runs')
    .addColumn('workflow_id', 'text', (c) => c.notNull())
    .addColumn('run_id', 'text', (c) => c.notNull())
    .addColumn('org_id', 'text', (c) => c.notNull())
    .addColumn('domain', 'text', (c) => c.notNull())
    .addColumn('started_at', 'text', (c) => c.notNull())
    .addColumn('finished_at', 'text', (c) => c.notNull())
    .addColumn('outcome', 'text', (c) => c.notNull())
    .addColumn('job_id', 'text')
    .addColumn('jobs_started', 'integer', (c) => c.notNull())
    .addColumn('version', 'text')
    .addColumn('content_digest', 'text')
    .addColumn('polls', 'integer', (c) => c.notNull())
    .addColumn('detail', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('export_runs_key', ['workflow_id', 'run_id'])
    .execute();
  await db.schema
    .createIndex('export_runs_by_domain')
    .on('export_runs')
    .columns(['org_id', 'domain', 'started_at'])
    .execute();
}
