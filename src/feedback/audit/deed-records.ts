import type { Deed } from '../../model/deed.ts';

/** Which deeds are meant: all without a field. */
export interface DeedFilter {
  /** From this moment on, UTC ISO 8601. */
  since?: string;
  org?: string;
  /** A domain or project. */
  subject?: string;
}

/** What people did by hand, which outlives Temporal's retention. It shares the database with the feedback, no more. */
export interface DeedRecords {
  /** Inserts deeds; those that are there already stay as they are. */
  recordDeeds(deeds: readonly Deed[]): Promise<void>;
  /** Newest first; all of them without a filter. */
  listDeeds(filter: DeedFilter): AsyncIterable<Deed>;
}
