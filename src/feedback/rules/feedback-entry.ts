/** A project within its organization. */
export interface ProjectKey {
  org: string;
  project: string;
}

/** A feedback entry as the store keeps it: the fields of service-interface.md "Feedback entry", unknown ones in `extra`. */
export interface FeedbackEntry {
  id: string;
  path: string;
  comment: string | null;
  /** As sent. */
  createdAt: string | null;
  /** Known values or any other string, as sent. */
  source: string;
  status: string;
  /** Fields of the variants; null where the variant lacks them. */
  helpful: boolean | null;
  contact: string | null;
  code: string | null;
  filename: string | null;
  lang: string | null;
  /** Fields the interface does not name, as sent. */
  extra: Record<string, unknown>;
}

/** An entry that docferry cannot understand, with what it needs to understand it later. */
export interface RejectedEntry {
  /** The entry's own id where it has one, else `sha256:` and the first 32 hex digits of the digest of `raw`. */
  id: string;
  /** The entry's JSON text, as sent. */
  raw: string;
  /** Names the field and the type of its value, never the value. */
  reason: string;
}

/** The values service-interface.md "Feedback entry" names; entries may carry others, which are kept as sent. */
export const knownSources: readonly string[] = ['code_snippet', 'contextual', 'agent', 'thumbs_only'];
export const knownStatuses: readonly string[] = ['pending', 'in_progress', 'resolved', 'dismissed'];
/** Statuses of entries that wait for a person (S4). */
export const openStatuses: readonly string[] = ['pending', 'in_progress'];
export const closedStatuses: readonly string[] = ['resolved', 'dismissed'];

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
