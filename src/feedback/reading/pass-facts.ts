import type { Kysely, Transaction } from 'kysely';
import type { FactSource } from '../rules/decision.ts';
import { openStatuses } from '../rules/feedback-values.ts';
import type { PassBounds, StoredCounts } from '../rules/plan-slices.ts';
import { countRows, liveEntries } from '../store/stored-entries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { within } from '../store/within-range.ts';
import { missingEntries } from './missing-entries.ts';
import type { PassRow } from './pass-store.ts';
import { everSwept, watermark } from './passes.ts';
import { datesAreCoarse } from './service-traits.ts';
import { listSlices } from './slices.ts';
import { allReadableSince } from './unreadable-entries.ts';
import { verifiedRanges } from './verified-dates.ts';

/** The facts that the decisions about a pass read from the tables, inside the transaction that carries them out. */
export function passFacts(db: Transaction<FeedbackDatabase>, pass: PassRow): FactSource {
  const { org, project, passId, startedAt } = pass;
  const entries = liveEntries(db, pass);
  return {
    slices: () => listSlices(db, passId),
    everSwept: () => everSwept(db, org, project),
    watermark: () => watermark(db, org, project),
    undatedVerifiedUpTo: async () => (await verifiedRanges(db, org, project)).undated,
    allReadableSince: (moment) => allReadableSince(db, project, moment),
    datesAreCoarse: () => datesAreCoarse(db, org, project),
    entries: () => countRows(entries),
    entriesWithin: ({ dateFrom, dateTo }) => countRows(entries.where(within('created_at_utc', dateFrom, dateTo))),
    missing: (which) => missingEntries(db, { org, project, unseenSince: startedAt, ...which }),
    async entriesBySourceAndStatus() {
      const rows = await entries
        .select((row) => ['source', 'status', row.fn.countAll().as('entries')])
        .groupBy(['source', 'status'])
        .execute();
      return new Map(rows.map((row) => [`${row.source} ${row.status}`, Number(row.entries)]));
    },
    leftOutBy: (slice) =>
      countRows(
        entries
          .where('last_seen_at', '<', slice.startedAt ?? startedAt)
          .where(within('created_at_utc', slice.dateFrom, slice.dateTo))
          .$if(slice.statuses !== null, (query) => query.where('status', 'in', slice.statuses ?? []))
          .where((row) =>
            row.or([
              row('created_at_utc', '<', slice.oldestSeen ?? ''),
              row('created_at_utc', '>', slice.newestSeen ?? ''),
            ]),
          ),
      ),
    async unseenWithin({ dateFrom, dateTo }, before) {
      const rows = await entries
        .select('created_at_utc')
        .where('last_seen_at', '<', before)
        .where(within('created_at_utc', dateFrom, dateTo))
        .execute();
      return rows.flatMap(({ created_at_utc }) => created_at_utc ?? []);
    },
  };
}

/** Counts of what is stored of a project, for the plan of a pass (S4). */
export async function storedCounts(
  db: Kysely<FeedbackDatabase>,
  org: string,
  project: string,
  { dateFrom, dateTo }: PassBounds,
): Promise<StoredCounts> {
  const entries = liveEntries(db, { org, project });
  const inBounds = entries.where(within('created_at_utc', dateFrom, dateTo));
  return {
    stored: await countRows(entries),
    inBounds: await countRows(inBounds),
    open: await countRows(inBounds.where('status', 'in', openStatuses)),
    everSwept: await everSwept(db, org, project),
  };
}
