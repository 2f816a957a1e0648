import { type Kysely, type Migration, sql } from 'kysely';

/** Entries that hold something personal, by age: without it every pass would look at all entries (`holdsPersonal`). */
export const personalByDate: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createIndex('feedback_personal_by_date')
      .on('feedback')
      .columns(['project_id', 'created_at_utc', 'first_seen_at'])
      .where(() => sql<boolean>`contact is not null or comment is not null or code is not null or extra is not null`)
      .execute();
  },
};
