import type { Migration } from 'kysely';
import { makeTables } from './make-tables.ts';

/** Identities of the stores that this one was restored or moved from (`StoreLineage`). */
export const retiredIdentities: Migration = {
  up: (db) =>
    makeTables(db, [
      `create table retired_identities (
        place integer primary key,
        identity text not null,
        retired_at text not null,
        reason text not null)`,
    ]),
};
