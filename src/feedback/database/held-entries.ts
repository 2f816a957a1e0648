import type { Kysely } from 'kysely';
import type { FeedbackDatabase } from './tables.ts';

/** A project within its organization. */
export interface ProjectKey {
  org: string;
  project: string;
}

/** Every entry stored of a project, those that are gone from the service included. */
export function storedEntries(db: Kysely<FeedbackDatabase>, { org, project }: ProjectKey) {
  return db.selectFrom('feedback').where('project_id', '=', project).where('org_id', '=', org);
}

/** The entries that the service still has, as far as is known: those stored and not tombstoned. */
export function heldEntries(db: Kysely<FeedbackDatabase>, key: ProjectKey) {
  return storedEntries(db, key).where('deleted_at', 'is', null);
}
