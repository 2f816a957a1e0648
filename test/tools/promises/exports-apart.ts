import type { Tables } from './kept.ts';

/** How many rows of exports and rollbacks there are, and how many began before the one before them on their site ended (E1). */
export async function exportsApart(tables: Tables): Promise<{ runs: number; overlaps: number }> {
  const rows = await tables.rows('select domain, started_at, finished_at from export_runs order by domain, started_at');
  const overlaps = rows.filter((row, place) => {
    const before = rows[place - 1];
    return before?.domain === row.domain && String(before?.finished_at) > String(row.started_at);
  });
  return { runs: rows.length, overlaps: overlaps.length };
}
