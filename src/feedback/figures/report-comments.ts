import { sql } from 'kysely';
import type { Excerpt, RecentComment, ReportFigures } from '../rules/report-figures.ts';
import { type ReportScope, reportRows } from './report-scope.ts';

/** Characters shown of a comment; some have megabytes. */
export const excerptLength = 1_200;

/** `text` is the beginning of a comment; the database counts `characters` in all. */
export function excerptOf(text: string, characters: number): Excerpt {
  return { text, cut: Math.max(0, characters - excerptLength) };
}

/** Entries with a comment: how many, and the newest of them; those without a date come last. */
export async function recentComments(scope: ReportScope): Promise<Pick<ReportFigures, 'commented' | 'recent'>> {
  const commented = reportRows(scope).where(sql<boolean>`trim(comment) <> ''`);
  const { all } = await commented.select((row) => row.fn.countAll().as('all')).executeTakeFirstOrThrow();
  const newest = (dated: boolean, limit: number) =>
    commented
      .where('created_at_utc', dated ? 'is not' : 'is', null)
      .select([
        'path',
        'source',
        'status',
        'helpful',
        'created_at_utc',
        sql<string>`substr(comment, 1, ${sql.lit(excerptLength)})`.as('text'),
        sql<number>`length(comment)`.as('characters'),
      ])
      .orderBy('created_at_utc', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
  const dated = await newest(true, scope.query.comments);
  const undated = await newest(false, scope.query.comments - dated.length);
  const recent = [...dated, ...undated].map(
    ({ path, source, status, helpful, created_at_utc, text, characters }): RecentComment => ({
      ...excerptOf(text, Number(characters)),
      path,
      source,
      status,
      helpful: helpful === null ? null : helpful === 1,
      createdAt: created_at_utc,
    }),
  );
  return { commented: Number(all), recent };
}
