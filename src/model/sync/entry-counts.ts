/** Counts of what a pass did with the entries it was sent (contracts.md, `feedback sync --wait`). */
export interface EntryCounts {
  seen: number;
  inserted: number;
  updated: number;
  unchanged: number;
  rejected: number;
  tombstoned: number;
}
