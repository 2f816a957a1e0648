import type { Deed } from '../../model/deed.ts';

/** What people did by hand, which outlives Temporal's retention. It shares the database with the feedback, no more. */
export interface DeedRecords {
  /** Inserts deeds; those that are there already stay as they are. */
  recordDeeds(deeds: readonly Deed[]): Promise<void>;
  /** Newest first, from a moment on (UTC ISO 8601); all of them without it. */
  listDeeds(filter: { since?: string }): AsyncIterable<Deed>;
}
