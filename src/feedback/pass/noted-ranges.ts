import type { Kysely, Transaction } from 'kysely';
import { leastVerified, markVerified, unverified, type VerifiedRange } from '../../model/sync/verified-ranges.ts';
import type { FeedbackDatabase } from '../database/tables.ts';

type Db = Kysely<FeedbackDatabase>;

/** Since when which dates of a project are proved; `undated` of entries without a date. */
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
  const dated = rows.filter((row) => row.undated === 0);
  return {
    ranges:
      dated.length === 0
        ? [...unverified]
        : dated.map((row) => ({ from: row.date_from, to: row.date_to, verifiedUpTo: row.verified_up_to })),
    undated: rows.find((row) => row.undated === 1)?.verified_up_to ?? null,
  };
}

/** As of when everything held is proved to have been as at the service (S4); null while something is not. */
export async function verifiedUpTo(db: Db, org: string, project: string): Promise<string | null> {
  const { ranges, undated } = await verifiedRanges(db, org, project);
  return leastVerified([...ranges, { verifiedUpTo: undated }]);
}

/** Notes what a reading begun at `at` has proved. */
export async function noteVerified(
  db: Transaction<FeedbackDatabase>,
  { org, project }: { org: string; project: string },
  proved: { from: string | null; to: string | null; undated: boolean; at: string },
): Promise<void> {
  const held = await verifiedRanges(db, org, project);
  const ranges = markVerified(held.ranges, proved);
  const undated = proved.undated && proved.at > (held.undated ?? '') ? proved.at : held.undated;
  await db.deleteFrom('verified_ranges').where('org_id', '=', org).where('project_id', '=', project).execute();
  const key = { org_id: org, project_id: project };
  await db
    .insertInto('verified_ranges')
    .values([
      { ...key, place: 0, undated: 1, date_from: null, date_to: null, verified_up_to: undated },
      ...ranges.map(({ from, to, verifiedUpTo: at }, index) => ({
        ...key,
        place: index + 1,
        undated: 0,
        date_from: from,
        date_to: to,
        verified_up_to: at,
      })),
    ])
    .execute();
}
