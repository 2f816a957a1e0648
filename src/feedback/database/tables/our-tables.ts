import type { FeedbackDatabase } from './tables.ts';

/**
 * Every table of a feedback store, those that others refer to before those. What treats the whole store, such as a move to
 * another database, reads this list; a table that is missing here does not compile.
 */
const present: Readonly<Record<keyof FeedbackDatabase, true>> = {
  store_identity: true,
  retired_identities: true,
  store_key: true,
  feedback: true,
  feedback_changes: true,
  feedback_rejects: true,
  sync_passes: true,
  sync_cursors: true,
  sync_slices: true,
  sync_traits: true,
  verified_ranges: true,
  export_runs: true,
  erasures: true,
  audit: true,
  notices: true,
};

export const ourTables: readonly (keyof FeedbackDatabase)[] = Object.keys(present).filter(isOurTable);

export function isOurTable(name: string): name is keyof FeedbackDatabase {
  return Object.hasOwn(present, name);
}
