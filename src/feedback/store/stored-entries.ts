import type { Kysely, SelectQueryBuilder } from 'kysely';
import type { FeedbackDatabase } from './tables.ts';

/** A project within its organization. */
export interface ProjectKey {
  org: string;
  project: string;
}

/** Every entry stored of a project, tombstoned ones included. */
export function storedEntries(db: Kysely<FeedbackDatabase>, { org, project }: ProjectKey) {
  return db.selectFrom('feedback').where('project_id', '=', project).where('org_id', '=', org);
}

/** The entries that the service still has, as far as is known: those not tombstoned. */
export function liveEntries(db: Kysely<FeedbackDatabase>, key: ProjectKey) {
  return storedEntries(db, key).where('deleted_at', 'is', null);
}

/** How many rows a query has. */
export async function countRows<Table extends keyof FeedbackDatabase>(
  query: SelectQueryBuilder<FeedbackDatabase, Table, object>,
): Promise<number> {
  const { rows } = await query
    .clearSelect()
    .clearOrderBy()
    .select((row) => row.fn.countAll().as('rows'))
    .executeTakeFirstOrThrow();
  return Number(rows);
}
