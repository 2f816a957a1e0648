const pageSize = 100;

/** What the store knows of a project before a pass begins. */
export interface Expectation {
  /** Entries stored between the bounds of the pass; all of them when it has none. */
  entries: number;
  /** Pages of the last completed pass of the same kind and breadth, if there was one. */
  lastPages: number | null;
}

/** Pages a pass is expected to have: never fewer than what is stored needs. Null when nothing was ever read. */
export function expectedPages({ entries, lastPages }: Expectation): number | null {
  if (entries === 0 && lastPages === null) return null;
  return Math.max(1, Math.ceil(entries / pageSize), lastPages ?? 0);
}
