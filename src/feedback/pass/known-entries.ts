import type { Kysely } from 'kysely';
import { openStatuses } from '../../model/sync/feedback-values.ts';
import type { KnownEntries, PassBounds } from '../../model/sync/pass-slices.ts';
import { heldEntries } from '../database/held-entries.ts';
import type { FeedbackDatabase } from '../database/tables.ts';
import { everSwept } from './passes.ts';

/** Counts of what is held of a project, for the plan of a pass (S4). */
export async function knownEntries(
  db: Kysely<FeedbackDatabase>,
  org: string,
  project: string,
  { dateFrom, dateTo }: PassBounds,
): Promise<KnownEntries> {
  const live = heldEntries(db, { org, project }).select((row) => row.fn.countAll().as('rows'));
  const inBounds = live
    .$if(dateFrom !== null, (query) => query.where('created_at_utc', '>=', dateFrom ?? ''))
    .$if(dateTo !== null, (query) => query.where('created_at_utc', '<', dateTo ?? ''));
  const count = async (query: typeof live): Promise<number> => Number((await query.executeTakeFirstOrThrow()).rows);
  return {
    held: await count(live),
    inBounds: await count(inBounds),
    open: await count(inBounds.where('status', 'in', openStatuses)),
    everSwept: await everSwept(db, org, project),
  };
}
