/** Counts of what a pass did with the entries it was sent (contracts.md, `feedback sync --wait`). */
export interface EntryCounts {
  seen: number;
  inserted: number;
  updated: number;
  unchanged: number;
  rejected: number;
  tombstoned: number;
}

export const noEntries: EntryCounts = { seen: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0, tombstoned: 0 };

export function addCounts(a: EntryCounts, b: EntryCounts): EntryCounts {
  return {
    seen: a.seen + b.seen,
    inserted: a.inserted + b.inserted,
    updated: a.updated + b.updated,
    unchanged: a.unchanged + b.unchanged,
    rejected: a.rejected + b.rejected,
    tombstoned: a.tombstoned + b.tombstoned,
  };
}
