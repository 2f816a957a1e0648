import type { Kysely, Migration } from 'kysely';

/** How long jobs took at the service: what the polls of later exports learn from (E2). */
export const jobDurationColumn: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('export_runs').addColumn('job_ms', 'bigint').execute();
  },
};
