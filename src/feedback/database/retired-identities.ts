import { type Kysely, type Migration, sql } from 'kysely';
import type { FeedbackDatabase } from './tables.ts';

/** Identities of the stores that this one was restored or moved from (`StoreLineage`). */
export const retiredIdentities: Migration = {
  async up(db: Kysely<FeedbackDatabase>): Promise<void> {
    await sql
      .raw(
        `create table retired_identities (
          place integer primary key,
          identity text not null,
          retired_at text not null,
          reason text not null)`,
      )
      .execute(db);
  },
};
