import type { FeedbackDatabase } from './tables.ts';

/**
 * Every table of a feedback store, those that others refer to before those; a table that is missing here does not compile.
 * False: what it holds is made from the others.
 */
const present: Readonly<Record<keyof FeedbackDatabase, boolean>> = {
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
  search_entries: false,
  search_progress: false,
};

/** The tables that every treatment of the whole store, such as a move to another database, must include. */
export const ourTables: readonly (keyof FeedbackDatabase)[] = Object.keys(present)
  .filter(isOurTable)
  .filter((name) => present[name]);

export function isOurTable(name: string): name is keyof FeedbackDatabase {
  return Object.hasOwn(present, name);
}
