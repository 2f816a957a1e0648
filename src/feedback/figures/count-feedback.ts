import { type Kysely, sql } from 'kysely';
import { documentOf } from '../store/document-of.ts';
import { countRows, liveEntries, storedEntries } from '../store/stored-entries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import type { Count, FeedbackStats } from './figure-store.ts';
import { votedNo, votedYes } from './report-scope.ts';

type Db = Kysely<FeedbackDatabase>;

const shownPaths = 10;

/** Counts the entries of a project (contracts.md `feedback stats`). */
export async function feedbackStats(db: Db, org: string, project: string): Promise<FeedbackStats> {
  const live = liveEntries(db, { org, project });
  const contextual = live.where('source', '=', 'contextual');
  const totals = await storedEntries(db, { org, project })
    .select((row) => [row.fn.countAll().as('stored'), row.fn.count('deleted_at').as('tombstones')])
    .executeTakeFirstOrThrow();
  const by = (column: 'source' | 'status') =>
    live
      .select((row) => [row.ref(column).as('name'), row.fn.countAll().as('entries')])
      .groupBy(column)
      .orderBy('entries', 'desc')
      .orderBy(column)
      .execute();
  const months = await live
    .select((row) => [sql<string | null>`substr(created_at_utc, 1, 7)`.as('name'), row.fn.countAll().as('entries')])
    .groupBy('name')
    .orderBy('name')
    .execute();
  const votes = await contextual.select([votedYes.as('yes'), votedNo.as('no')]).executeTakeFirstOrThrow();
  const helpfulMonths = await contextual
    .where('created_at_utc', 'is not', null)
    .where('helpful', 'is not', null)
    .select([sql<string>`substr(created_at_utc, 1, 7)`.as('name'), votedYes.as('yes'), votedNo.as('no')])
    .groupBy('name')
    .orderBy('name')
    .execute();
  const document = documentOf(db);
  const paths = await contextual
    .select([document.as('document'), votedNo.as('unhelpful'), votedYes.as('helpful')])
    .groupBy(document)
    .having(votedNo, '>', 0)
    .orderBy('unhelpful', 'desc')
    .orderBy('helpful')
    .orderBy('document')
    .limit(shownPaths)
    .execute();
  return {
    entries: Number(totals.stored) - Number(totals.tombstones),
    tombstones: Number(totals.tombstones),
    rejects: await countRows(db.selectFrom('feedback_rejects').where('project_id', '=', project)),
    sources: counts(await by('source')),
    statuses: counts(await by('status')),
    helpful: { yes: Number(votes.yes), no: Number(votes.no) },
    helpfulMonths: helpfulMonths.map((month) => ({ name: month.name, yes: Number(month.yes), no: Number(month.no) })),
    months: counts(months.flatMap(({ name, entries }) => (name === null ? [] : [{ name, entries }]))),
    undated: Number(months.find(({ name }) => name === null)?.entries ?? 0),
    paths: paths.map(({ document: path, unhelpful, helpful }) => ({
      path,
      unhelpful: Number(unhelpful),
      helpful: Number(helpful),
    })),
  };
}

/** PostgreSQL counts in `bigint`, which arrives as text. */
function counts(rows: readonly { name: string; entries: number | string | bigint }[]): Count[] {
  return rows.map(({ name, entries }) => ({ name, entries: Number(entries) }));
}
