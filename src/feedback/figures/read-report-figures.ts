import { type Kysely, sql } from 'kysely';
import type { ReportFigures, ReportQuery } from '../rules/report-figures.ts';
import { timeAxis } from '../rules/time-axis.ts';
import { shortTexts } from '../../rules/short-texts.ts';
import { openStatuses } from '../rules/feedback-values.ts';
import { openSnapshot } from '../store/open-snapshot.ts';
import { countRows, liveEntries } from '../store/stored-entries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { excerptLength, recentComments } from './report-comments.ts';
import { reportOverTime } from './report-over-time.ts';
import { agentPages, votedPages } from './report-paths.ts';
import { countWhere, type ReportScope, reportRows, votedNo, votedYes } from './report-scope.ts';
import { reportWaits } from './report-waits.ts';

/**
 * Of a path, source or status, in UTF-16 units: each stands in a page several times. As much as the characters of an excerpt
 * may have.
 */
const longestText = 2 * excerptLength;

/**
 * What `feedback report` shows of a project (contracts.md), counted by the database in one snapshot: however many entries
 * there are, few rows reach this process.
 */
export async function reportFigures(db: Kysely<FeedbackDatabase>, query: ReportQuery): Promise<ReportFigures> {
  const snapshot = await openSnapshot(db);
  try {
    return shortTexts(await figures({ db: snapshot, query }), longestText);
  } finally {
    await snapshot.rollback().execute();
  }
}

async function figures(scope: ReportScope): Promise<ReportFigures> {
  const { from, to, now } = scope.query;
  const bounded = from !== undefined || to !== undefined;
  const isOpen = sql<boolean>`status in (${sql.join(openStatuses)})`;
  const totals = await reportRows(scope)
    .select((row) => [
      row.fn.countAll().as('entries'),
      row.fn.count('created_at_utc').as('dated'),
      row.fn.min('created_at_utc').as('oldest'),
      countWhere(isOpen).as('open'),
      sql<string | null>`min(case when ${isOpen} then created_at_utc end)`.as('oldestOpen'),
    ])
    .executeTakeFirstOrThrow();
  const votes = await reportRows(scope)
    .where('source', '=', 'contextual')
    .select([votedYes.as('yes'), votedNo.as('no')])
    .executeTakeFirstOrThrow();
  const [entries, dated] = [Number(totals.entries), Number(totals.dated)];
  const axis = timeAxis({
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    oldest: totals.oldest,
    now,
  });
  const overTime = await reportOverTime(scope, axis);
  return {
    entries,
    undated: entries - dated,
    undatedLeftOut: bounded
      ? await countRows(liveEntries(scope.db, scope.query).where('created_at_utc', 'is', null))
      : 0,
    axis,
    outsideAxis: dated - overTime.onAxis,
    sources: overTime.sources,
    statuses: overTime.statuses,
    open: { entries: Number(totals.open), oldest: totals.oldestOpen },
    helpful: { yes: Number(votes.yes), no: Number(votes.no) },
    helpfulOver: overTime.helpful,
    ...(await votedPages(scope)),
    ...(await reportWaits(scope, axis)),
    agents: await agentPages(scope),
    ...(await recentComments(scope)),
  };
}
