import { type RawBuilder, sql } from 'kysely';
import type { Series, Votes } from '../rules/report-figures.ts';
import type { TimeAxis } from '../rules/time-axis.ts';
import { intervalOf, type ReportScope, reportRows } from './report-scope.ts';

export interface OverTime {
  /** Entries that lie on the axis. */
  onAxis: number;
  sources: Series[];
  statuses: Series[];
  helpful: Votes[];
}

/** Sources and statuses that are counted separately; a service may send any number of new ones. */
const shownNames = 6;

/** Counts the entries by interval of the axis, source, status and vote: one walk over the entries, few rows. */
export async function reportOverTime(scope: ReportScope, axis: TimeAxis | null): Promise<OverTime> {
  const intervals = axis?.starts.length ?? 0;
  const sources = await mostFrequent(scope, 'source', intervals);
  const statuses = await mostFrequent(scope, 'status', intervals);
  const helpful = Array.from({ length: intervals }, () => ({ yes: 0, no: 0 }));
  if (axis === null) return { onAxis: 0, sources, statuses, helpful };

  const cells = await reportRows(scope)
    .where('created_at_utc', '>=', axis.starts[0] ?? '')
    .where('created_at_utc', '<', axis.end)
    .select((row) => [
      intervalOf(axis, sql<string>`created_at_utc`).as('interval'),
      oneOf('source', sources).as('shown_source'),
      oneOf('status', statuses).as('shown_status'),
      sql<number | null>`case when source = 'contextual' then helpful end`.as('vote'),
      row.fn.countAll().as('entries'),
    ])
    .groupBy(['interval', 'shown_source', 'shown_status', 'vote'])
    .execute();
  let onAxis = 0;
  for (const { interval, shown_source, shown_status, vote, entries } of cells) {
    const count = Number(entries);
    const at = Number(interval);
    onAxis += count;
    add(sources, shown_source, at, count);
    add(statuses, shown_status, at, count);
    const votes = helpful[at];
    if (votes !== undefined && vote === 1) votes.yes += count;
    if (votes !== undefined && vote === 0) votes.no += count;
  }
  return { onAxis, sources, statuses, helpful };
}

/** The most frequent values with zeros over time, and what they leave. */
async function mostFrequent(scope: ReportScope, column: 'source' | 'status', intervals: number): Promise<Series[]> {
  const rows = await reportRows(scope)
    .select((row) => [row.ref(column).as('name'), row.fn.countAll().as('entries')])
    .groupBy(column)
    .orderBy('entries', 'desc')
    .orderBy(column)
    .limit(shownNames)
    .execute();
  const { all } = await reportRows(scope)
    .select((row) => row.fn.countAll().as('all'))
    .executeTakeFirstOrThrow();
  const zeros = () => Array.from({ length: intervals }, () => 0);
  const named: Series[] = rows.map(({ name, entries }) => ({ name, entries: Number(entries), over: zeros() }));
  const rest = Number(all) - named.reduce((sum, { entries }) => sum + entries, 0);
  return rest === 0 ? named : [...named, { name: null, entries: rest, over: zeros() }];
}

/** The column's value where it is one of the series, null elsewhere. */
function oneOf(column: 'source' | 'status', series: readonly Series[]): RawBuilder<string | null> {
  const names = series.flatMap(({ name }) => (name === null ? [] : [name]));
  if (names.length === 0) return sql`null`;
  return sql`case when ${sql.ref(column)} in (${sql.join(names)}) then ${sql.ref(column)} end`;
}

function add(series: readonly Series[], name: string | null, at: number, count: number): void {
  const found = series.find((one) => one.name === name);
  if (found !== undefined) found.over[at] = (found.over[at] ?? 0) + count;
}
