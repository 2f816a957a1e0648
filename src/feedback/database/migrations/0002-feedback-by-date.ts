import type { Kysely, Migration } from 'kysely';

/** The order of exports: without it every page of an export would sort the whole table. */
export const feedbackByDate: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createIndex('feedback_by_date')
      .on('feedback')
      .columns(['project_id', 'created_at_utc', 'id'])
      .execute();
  },
};
