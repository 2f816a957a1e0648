/** What a sync pass reads (DESIGN §2 S4). */
export type PassKind = 'incremental' | 'review' | 'sweep';

/** All kinds of pass: `verify` reads again with requests that nobody else wants (`budget.spare`). */
export type ReadingKind = PassKind | 'verify';

export const readingKinds: readonly ReadingKind[] = ['incremental', 'review', 'sweep', 'verify'];

/** Phases of an export in the order they are taken (DESIGN §4). */
export type ExportPhase = 'starting' | 'rendering' | 'fetching' | 'verifying' | 'publishing' | 'rolling-out' | 'done';

/** Archive formats that are told apart by their bytes (DESIGN §6). */
export type ArchiveFormat = 'tar.gz' | 'tar' | 'zip';

/** Counts of what a pass did with the entries it was sent (DESIGN §5, `feedback sync --wait`). */
export interface EntryCounts {
  seen: number;
  inserted: number;
  updated: number;
  unchanged: number;
  rejected: number;
  tombstoned: number;
}

/** One rule of verification that an archive broke (DESIGN §5, `export verify`). */
export interface Reason {
  /** Stable kebab-case name of the rule, e.g. `path-traversal`. */
  rule: string;
  /** Path inside the archive, made printable and cut to 200 characters; null when it concerns the whole archive. */
  path: string | null;
  detail: string;
}

/** What became of one rollout target. */
export interface RolloutResult {
  /** The target's name, unique within a site, e.g. `directory:./site`. */
  target: string;
  outcome: 'rolled-out' | 'already-current' | 'failed';
  detail: string;
}

export interface ArchiveFacts {
  /** Lowercase hex SHA-256 of the archive's bytes. */
  sha256: string;
  bytes: number;
  format: ArchiveFormat;
}
