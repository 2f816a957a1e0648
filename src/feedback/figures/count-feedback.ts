import { type Kysely, sql } from 'kysely';
import { heldEntries, storedEntries } from '../database/held-entries.ts';
import type { FeedbackDatabase } from '../database/tables.ts';

type Db = Kysely<FeedbackDatabase>;

/** How many entries have a value in common. */
export interface Count {
  name: string;
  entries: number;
}

/** What is stored of a project in numbers, without what people wrote. Tombstones are in no number but their own. */
export interface FeedbackStats {
  entries: number;
  tombstones: number;
  rejects: number;
  /** Most entries first. */
  sources: Count[];
  statuses: Count[];
  /** Of contextual entries: whether the page helped. */
  helpful: { yes: number; no: number };
  /** The same by month of `created_at_utc`, oldest first; months without votes are absent. */
  helpfulMonths: { name: string; yes: number; no: number }[];
  /** Months of `created_at_utc` such as `2026-11`, oldest first; those without entries are absent. */
  months: Count[];
  /** Entries without a date that can be understood. */
  undated: number;
  /** The paths of contextual entries that most often did not help, at most ten. */
  paths: { path: string; unhelpful: number; helpful: number }[];
}

const shownPaths = 10;

/** Counts the entries of a project (contracts.md `feedback stats`). */
export async function feedbackStats(db: Db, org: string, project: string): Promise<FeedbackStats> {
  const live = heldEntries(db, { org, project });
  const contextual = live.where('source', '=', 'contextual');
  const yes = sql<number>`count(case when helpful = 1 then 1 end)`;
  const no = sql<number>`count(case when helpful = 0 then 1 end)`;

  const totals = await storedEntries(db, { org, project })
    .select((row) => [row.fn.countAll().as('stored'), row.fn.count('deleted_at').as('tombstones')])
    .executeTakeFirstOrThrow();
  const { rejects } = await db
    .selectFrom('feedback_rejects')
    .select((row) => row.fn.countAll().as('rejects'))
    .where('project_id', '=', project)
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
  const votes = await contextual.select([yes.as('yes'), no.as('no')]).executeTakeFirstOrThrow();
  const helpfulMonths = await contextual
    .where('created_at_utc', 'is not', null)
    .where('helpful', 'is not', null)
    .select([sql<string>`substr(created_at_utc, 1, 7)`.as('name'), yes.as('yes'), no.as('no')])
    .groupBy('name')
    .orderBy('name')
    .execute();
  const paths = await contextual
    .select(['path', no.as('unhelpful'), yes.as('helpful')])
    .groupBy('path')
    .having(no, '>', 0)
    .orderBy('unhelpful', 'desc')
    .orderBy('helpful')
    .orderBy('path')
    .limit(shownPaths)
    .execute();
  return {
    entries: Number(totals.stored) - Number(totals.tombstones),
    tombstones: Number(totals.tombstones),
    rejects: Number(rejects),
    sources: counts(await by('source')),
    statuses: counts(await by('status')),
    helpful: { yes: Number(votes.yes), no: Number(votes.no) },
    helpfulMonths: helpfulMonths.map((month) => ({ name: month.name, yes: Number(month.yes), no: Number(month.no) })),
    months: counts(months.flatMap(({ name, entries }) => (name === null ? [] : [{ name, entries }]))),
    undated: Number(months.find(({ name }) => name === null)?.entries ?? 0),
    paths: paths.map(({ path, unhelpful, helpful }) => ({
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
