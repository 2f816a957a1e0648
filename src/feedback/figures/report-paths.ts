import { sql } from 'kysely';
import type { AgentPage, Complaint, ReportFigures } from '../rules/report-figures.ts';
import { openStatuses } from '../rules/feedback-values.ts';
import { documentOf } from '../store/document-of.ts';
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
  const document = documentOf(scope.db);
  const { pages } = await voted
    .select((row) => row.fn.count(document).distinct().as('pages'))
    .executeTakeFirstOrThrow();
  const byPath = voted.select([document.as('document'), votedYes.as('yes'), votedNo.as('no')]).groupBy(document);
  const mostVoted = await byPath.orderBy(sql`count(*)`, 'desc').orderBy('document').limit(shownPaths).execute();
  const worst = await byPath
    .having(votedNo, '>', 0)
    .orderBy('no', 'desc')
    .orderBy('yes')
    .orderBy('document')
    .limit(shownPaths)
    .execute();
  return { votedPages: Number(pages), mostVoted: mostVoted.map(votesOf), worst: worst.map(votesOf) };
}

function votesOf({ document, yes, no }: { document: string; yes: number | string; no: number | string }) {
  return { path: document, yes: Number(yes), no: Number(no) };
}

/** The pages agents left most feedback on, each with what is said there most often. */
export async function agentPages(scope: ReportScope): Promise<ReportFigures['agents']> {
  const document = documentOf(scope.db);
  const ofAgents = reportRows(scope).where('source', '=', 'agent');
  const totals = await ofAgents
    .select((row) => [row.fn.countAll().as('entries'), row.fn.count(document).distinct().as('paths')])
    .executeTakeFirstOrThrow();
  const open = countWhere(sql`status in (${sql.join(openStatuses)})`);
  const rows = await ofAgents
    .select((row) => [document.as('document'), row.fn.countAll().as('entries'), open.as('open')])
    .groupBy(document)
    .orderBy('entries', 'desc')
    .orderBy('open', 'desc')
    .orderBy('document')
    .limit(shownAgentPaths)
    .execute();
  const complaints = await complaintsOn(scope, scope.query.comments === 0 ? [] : rows.map((row) => row.document));
  const pages = rows.map(
    ({ document: path, entries, open }): AgentPage => ({
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
  const document = documentOf(scope.db);
  const grouped = reportRows(scope)
    .where('source', '=', 'agent')
    .where(document, 'in', paths)
    .where(sql<boolean>`trim(comment) <> ''`)
    .select((row) => [
      document.as('document'),
      sql<string>`substr(comment, 1, ${sql.lit(excerptLength)})`.as('said'),
      row.fn.max(sql<number>`length(comment)`).as('characters'),
      row.fn.countAll().as('times'),
      row.fn.max('created_at_utc').as('newest'),
    ])
    .groupBy([document, 'said']);
  const ranked = scope.db
    .selectFrom(grouped.as('grouped'))
    .selectAll()
    .select(
      sql<number>`row_number() over (partition by document order by times desc, coalesce(newest, '') desc, said)`.as(
        'place',
      ),
    );
  const rows = await scope.db
    .selectFrom(ranked.as('ranked'))
    .selectAll()
    .where('place', '<=', complaintsOfPath)
    .orderBy('document')
    .orderBy('place')
    .execute();
  for (const { document: path, said, characters, times } of rows) {
    found.get(path)?.push({ ...excerptOf(said, Number(characters)), times: Number(times) });
  }
  return found;
}
