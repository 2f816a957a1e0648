import type { Kysely, Selectable, Transaction } from 'kysely';
import { leastVerified, markVerified, unverified, type VerifiedRange } from '../rules/verified-ranges.ts';
import type { FeedbackDatabase } from '../store/tables.ts';

type Db = Kysely<FeedbackDatabase>;
export type VerifiedRow = Selectable<FeedbackDatabase['verified_ranges']>;

/**
 * For each range of dates of a project, the moment up to which it is complete; `undated` for the entries without a
 * date.
 */
export async function verifiedRanges(
  db: Db,
  org: string,
  project: string,
): Promise<{ ranges: VerifiedRange[]; undated: string | null }> {
  const rows = await db
    .selectFrom('verified_ranges')
    .selectAll()
    .where('org_id', '=', org)
    .where('project_id', '=', project)
    .orderBy('place')
    .execute();
  return rangesOf(rows);
}

/** What the rows of a project say, in the order of their places. */
export function rangesOf(rows: readonly VerifiedRow[]): { ranges: VerifiedRange[]; undated: string | null } {
  const dated = rows.filter((row) => row.undated === 0);
  return {
    ranges:
      dated.length === 0
        ? [...unverified]
        : dated.map((row) => ({ from: row.date_from, to: row.date_to, verifiedUpTo: row.verified_up_to })),
    undated: rows.find((row) => row.undated === 1)?.verified_up_to ?? null,
  };
}

/** The moment up to which all stored entries are complete (S4); null while some are not. */
export async function verifiedUpTo(db: Db, org: string, project: string): Promise<string | null> {
  const { ranges, undated } = await verifiedRanges(db, org, project);
  return leastVerified([...ranges, { verifiedUpTo: undated }]);
}

/** Notes what a reading begun at `at` has shown to be complete. */
export async function noteVerified(
  db: Transaction<FeedbackDatabase>,
  org: string,
  project: string,
  shown: { from: string | null; to: string | null; undated: boolean; at: string },
): Promise<void> {
  const before = await verifiedRanges(db, org, project);
  const undated = shown.undated && shown.at > (before.undated ?? '') ? shown.at : before.undated;
  const ranges = markVerified(before.ranges, shown);
  await db.deleteFrom('verified_ranges').where('org_id', '=', org).where('project_id', '=', project).execute();
  await db
    .insertInto('verified_ranges')
    .values(
      [{ from: null, to: null, verifiedUpTo: undated }, ...ranges].map(({ from, to, verifiedUpTo }, place) => ({
        org_id: org,
        project_id: project,
        place,
        undated: place === 0 ? 1 : 0,
        date_from: from,
        date_to: to,
        verified_up_to: verifiedUpTo,
      })),
    )
    .execute();
}
