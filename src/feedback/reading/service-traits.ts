import type { Kysely, Transaction } from 'kysely';
import type { FeedbackDatabase } from '../store/tables.ts';

/** Whether the service was found to take date-times for their dates: narrow windows then return nothing. */
export async function datesAreCoarse(db: Kysely<FeedbackDatabase>, org: string, project: string): Promise<boolean> {
  const traits = await db
    .selectFrom('sync_traits')
    .select('coarse_dates')
    .where('org_id', '=', org)
    .where('project_id', '=', project)
    .executeTakeFirst();
  return traits?.coarse_dates === 1;
}

export async function noteCoarseDates(
  db: Transaction<FeedbackDatabase>,
  org: string,
  project: string,
  coarse: boolean,
): Promise<void> {
  await db
    .insertInto('sync_traits')
    .values({ org_id: org, project_id: project, coarse_dates: Number(coarse) })
    .onConflict((conflict) => conflict.columns(['org_id', 'project_id']).doUpdateSet({ coarse_dates: Number(coarse) }))
    .execute();
}
