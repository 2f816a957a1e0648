import { type RawBuilder, sql } from 'kysely';
import type { ReportFigures, Waits } from '../rules/report-figures.ts';
import type { TimeAxis } from '../rules/time-axis.ts';
import { closedStatuses, openStatuses } from '../rules/feedback-values.ts';
import { isPostgres } from '../store/is-postgres.ts';
import { within } from '../store/within-range.ts';
import { intervalOf, type ReportScope } from './report-scope.ts';

/**
 * How long entries waited until a person closed them: from their creation to the last change from an open to a closed
 * status that a sync saw (S5), of those that are closed now. Entries first seen closed do not count, and a change has
 * the time of the sync that saw it.
 */
export async function reportWaits(
  scope: ReportScope,
  axis: TimeAxis | null,
): Promise<Pick<ReportFigures, 'waits' | 'waitsOver'>> {
  const [waits = null] = await quantiles(scope, sql`0`, 1);
  if (axis === null) return { waits, waitsOver: [] };
  const closedAt = sql<string>`closed_at`;
  return { waits, waitsOver: await quantiles(scope, intervalOf(axis, closedAt), axis.starts.length) };
}

/** Nearest-rank quantiles of the waits of each interval. */
async function quantiles(
  scope: ReportScope,
  interval: RawBuilder<number | null>,
  intervals: number,
): Promise<(Waits | null)[]> {
  const waits = scope.db
    .selectFrom(closings(scope).as('closings'))
    .whereRef('closed_at', '>', 'opened_at')
    .where(within('closed_at', scope.query.from, scope.query.to))
    .select([interval.as('interval'), secondsBetween(scope, sql`opened_at`, sql`closed_at`).as('seconds')]);
  const ranked = scope.db
    .selectFrom(waits.as('waits'))
    .where('interval', 'is not', null)
    .select([
      'interval',
      'seconds',
      sql<number>`row_number() over (partition by interval order by seconds)`.as('place'),
      sql<number>`count(*) over (partition by interval)`.as('closed'),
    ]);
  const rows = await scope.db
    .selectFrom(ranked.as('ranked'))
    .selectAll()
    .where(({ eb, or }) => or([eb('place', '=', rank(50)), eb('place', '=', rank(90))]))
    .orderBy('interval')
    .orderBy('place')
    .execute();
  return Array.from({ length: intervals }, (_, index) => {
    const [median, p90 = median] = rows.filter((row) => Number(row.interval) === index);
    if (median === undefined || p90 === undefined) return null;
    const ms = (seconds: number | string) => Math.round(Number(seconds) * 1000);
    return { closed: Number(median.closed), medianMs: ms(median.seconds), p90Ms: ms(p90.seconds) };
  });
}

function rank(percent: number): RawBuilder<number> {
  return sql`(closed * ${sql.lit(percent)} + 99) / 100`;
}

/** When each entry that is closed now was created, and when it was last seen to be closed. */
function closings({ db, query }: ReportScope) {
  return db
    .selectFrom('feedback_changes as change')
    .innerJoin('feedback as entry', (join) =>
      join.onRef('entry.project_id', '=', 'change.project_id').onRef('entry.id', '=', 'change.id'),
    )
    .where('change.project_id', '=', query.project)
    .where('change.field', '=', 'status')
    .where('change.old', 'in', openStatuses)
    .where('change.new', 'in', closedStatuses)
    .where('entry.org_id', '=', query.org)
    .where('entry.deleted_at', 'is', null)
    .where('entry.status', 'in', closedStatuses)
    .where('entry.created_at_utc', 'is not', null)
    .groupBy(['entry.id', 'entry.created_at_utc'])
    .select((row) => ['entry.created_at_utc as opened_at', row.fn.max('change.seen_at').as('closed_at')]);
}

function secondsBetween({ db }: ReportScope, from: RawBuilder<unknown>, to: RawBuilder<unknown>) {
  return isPostgres(db)
    ? sql<number | string>`extract(epoch from (${to})::timestamptz - (${from})::timestamptz)`
    : sql<number | string>`(julianday(${to}) - julianday(${from})) * 86400.0`;
}
