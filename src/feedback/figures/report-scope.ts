import { type Expression, type Kysely, type RawBuilder, sql } from 'kysely';
import type { ReportQuery } from '../rules/report-figures.ts';
import type { TimeAxis } from '../rules/time-axis.ts';
import { liveEntries } from '../store/stored-entries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { within } from '../store/within-range.ts';

export interface ReportScope {
  /** One snapshot for all the queries of a report. */
  db: Kysely<FeedbackDatabase>;
  query: ReportQuery;
}

/** The entries the report is about. */
export function reportRows({ db, query }: ReportScope) {
  return liveEntries(db, query).where(within('created_at_utc', query.from, query.to));
}

/** How many rows satisfy a condition. */
export function countWhere(condition: Expression<unknown>): RawBuilder<number | string> {
  return sql`count(case when ${condition} then 1 end)`;
}

export const votedYes = countWhere(sql`helpful = 1`);
export const votedNo = countWhere(sql`helpful = 0`);

/** The interval of the axis in which a moment lies, counted from 0; null outside the axis. */
export function intervalOf(axis: TimeAxis, moment: RawBuilder<string>): RawBuilder<number | null> {
  const ends = [...axis.starts.slice(1), axis.end];
  const cases = ends.map((end, index) => sql`when ${moment} < ${end} then ${sql.lit(index)}`);
  return sql`case when ${moment} < ${axis.starts[0]} then null ${sql.join(cases, sql` `)} end`;
}
