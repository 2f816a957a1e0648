import type { Kysely, Transaction } from 'kysely';
import { shifted } from '../../model/sync/slice.ts';
import { heldEntries } from '../database/held-entries.ts';
import type { FeedbackDatabase } from '../database/tables.ts';
import type { PassSlice } from '../feedback-store.ts';
import type { Pass } from './advance-pass.ts';

/** Dates may be written in whole seconds, and be out by so many milliseconds. */
const roundingMs = 2_000;

/** So many entries held within the bounds and not returned are not all deleted since. */
const notAllDeleted = 3;

/**
 * Whether a slice that was read to its end shows that the service understands date-times for something else: it
 * returned entries outside of the bounds, nothing at all, or left out entries at one end.
 */
export async function isMeantOtherwise(db: Kysely<FeedbackDatabase>, pass: Pass, slice: PassSlice): Promise<boolean> {
  const { dateFrom, dateTo, oldestSeen, newestSeen, stage } = slice;
  if (stage === 'wide' || slice.source !== null || (dateFrom === null && dateTo === null)) return false;
  if (dateFrom !== null && oldestSeen !== null && oldestSeen < shifted(dateFrom, -roundingMs)) return true;
  if (dateTo !== null && newestSeen !== null && newestSeen > shifted(dateTo, roundingMs)) return true;
  if (stage !== 'read' && slice.entries === 0) return true;
  const { rows } = await heldEntries(db, { org: pass.org_id, project: pass.project_id })
    .select((row) => row.fn.countAll().as('rows'))
    .where('last_seen_at', '<', slice.startedAt ?? pass.started_at)
    .where('created_at_utc', '>=', dateFrom ?? '')
    .$if(dateTo !== null, (query) => query.where('created_at_utc', '<', dateTo ?? ''))
    .$if(slice.statuses !== null, (query) => query.where('status', 'in', slice.statuses ?? []))
    .where((row) =>
      row.or([row('created_at_utc', '<', oldestSeen ?? ''), row('created_at_utc', '>', newestSeen ?? '')]),
    )
    .executeTakeFirstOrThrow();
  return Number(rows) >= notAllDeleted;
}

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
