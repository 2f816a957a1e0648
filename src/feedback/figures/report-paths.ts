import { sql } from 'kysely';
import type { AgentPage, Complaint, ReportFigures } from '../../model/report/report-figures.ts';
import { openStatuses } from '../../model/sync/feedback-values.ts';
import { excerptLength, excerptOf } from './report-comments.ts';
import { countWhere, type ReportScope, reportRows, votedNo, votedYes } from './report-scope.ts';

const shownPaths = 12;
const shownAgentPaths = 8;
const complaintsOfPath = 3;

/** The pages with most votes, and those with most votes against. */
export async function votedPages(
  scope: ReportScope,
): Promise<Pick<ReportFigures, 'votedPages' | 'mostVoted' | 'worst'>> {
  const voted = reportRows(scope).where('source', '=', 'contextual').where('helpful', 'is not', null);
  const { pages } = await voted.select((row) => row.fn.count('path').distinct().as('pages')).executeTakeFirstOrThrow();
  const byPath = voted.select(['path', votedYes.as('yes'), votedNo.as('no')]).groupBy('path');
  const mostVoted = await byPath.orderBy(sql`count(*)`, 'desc').orderBy('path').limit(shownPaths).execute();
  const worst = await byPath
    .having(votedNo, '>', 0)
    .orderBy('no', 'desc')
    .orderBy('yes')
    .orderBy('path')
    .limit(shownPaths)
    .execute();
  return { votedPages: Number(pages), mostVoted: mostVoted.map(votesOf), worst: worst.map(votesOf) };
}

function votesOf({ path, yes, no }: { path: string; yes: number | string; no: number | string }) {
  return { path, yes: Number(yes), no: Number(no) };
}

/** The pages agents left most feedback on, each with what is said there most often. */
export async function agentPages(scope: ReportScope): Promise<ReportFigures['agents']> {
  const ofAgents = reportRows(scope).where('source', '=', 'agent');
  const totals = await ofAgents
    .select((row) => [row.fn.countAll().as('entries'), row.fn.count('path').distinct().as('paths')])
    .executeTakeFirstOrThrow();
  const open = countWhere(sql`status in (${sql.join(openStatuses)})`);
  const rows = await ofAgents
    .select((row) => ['path', row.fn.countAll().as('entries'), open.as('open')])
    .groupBy('path')
    .orderBy('entries', 'desc')
    .orderBy('open', 'desc')
    .orderBy('path')
    .limit(shownAgentPaths)
    .execute();
  const complaints = await complaintsOn(scope, scope.query.comments === 0 ? [] : rows.map(({ path }) => path));
  const pages = rows.map(
    ({ path, entries, open }): AgentPage => ({
      path,
      entries: Number(entries),
      open: Number(open),
      complaints: complaints.get(path) ?? [],
    }),
  );
  return { entries: Number(totals.entries), paths: Number(totals.paths), pages };
}

/** The comments that occur most often on each page, then the newest: agents say the same thing many times. */
async function complaintsOn(scope: ReportScope, paths: readonly string[]): Promise<Map<string, Complaint[]>> {
  const found = new Map<string, Complaint[]>(paths.map((path) => [path, []]));
  if (paths.length === 0) return found;
  const grouped = reportRows(scope)
    .where('source', '=', 'agent')
    .where('path', 'in', paths)
    .where(sql<boolean>`trim(comment) <> ''`)
    .select((row) => [
      'path',
      sql<string>`substr(comment, 1, ${sql.lit(excerptLength)})`.as('said'),
      row.fn.max(sql<number>`length(comment)`).as('characters'),
      row.fn.countAll().as('times'),
      row.fn.max('created_at_utc').as('newest'),
    ])
    .groupBy(['path', 'said']);
  const ranked = scope.db
    .selectFrom(grouped.as('grouped'))
    .selectAll()
    .select(
      sql<number>`row_number() over (partition by path order by times desc, coalesce(newest, '') desc, said)`.as(
        'place',
      ),
    );
  const rows = await scope.db
    .selectFrom(ranked.as('ranked'))
    .selectAll()
    .where('place', '<=', complaintsOfPath)
    .orderBy('path')
    .orderBy('place')
    .execute();
  for (const { path, said, characters, times } of rows) {
    found.get(path)?.push({ ...excerptOf(said, Number(characters)), times: Number(times) });
  }
  return found;
}
