import type { FigureStore } from '../figures/figure-store.ts';
import type { FeedbackRecord, RecordFilter } from '../files/feedback-record.ts';
import type { PrivacyStore } from '../privacy/privacy.ts';
import type { PassStore, RefreshStore } from '../reading/pass-store.ts';
import type { VerifiedRange } from '../rules/pass-bounds.ts';
import type { PassBounds, StoredCounts } from '../rules/plan-slices.ts';
import type { FeedbackSearch } from '../search/feedback-search.ts';
import type { AuditRecords } from './audit-records.ts';
import type { NoticeRecords } from './notice-records.ts';
import type { OutgoingEntries } from './outgoing-entries.ts';
import type { RunRecords } from './run-records.ts';
import type { StoreLineage } from './store-lineage.ts';

/** The entries of a project, and how complete they are. */
export interface EntryStore {
  countEntries(org: string, project: string): Promise<{ entries: number; rejects: number; tombstones: number }>;
  /** Counts for the plan of a pass (S4). */
  storedCounts(org: string, project: string, bounds: PassBounds): Promise<StoredCounts>;
  /**
   * The entries of a project as one snapshot, by `created_at_utc`, then `id`; those without a date last. On SQLite the
   * store does nothing else until the iteration has ended: do not call it meanwhile.
   */
  entryRecords(filter: RecordFilter): AsyncIterable<FeedbackRecord>;
  /** How many entries a filter by date leaves out for having none. */
  countUndated(filter: RecordFilter): Promise<number>;
  /** Greatest `createdAt` of passes that completed (never the wall clock), UTC ISO 8601; null when none did. */
  watermark(org: string, project: string): Promise<string | null>;
  /** Whether a sweep of the project has completed. */
  everSwept(org: string, project: string): Promise<boolean>;
  /** For each range of dates, the moment up to which it is complete; `undated` for the entries without a date. */
  verifiedRanges(org: string, project: string): Promise<{ ranges: VerifiedRange[]; undated: string | null }>;
  /** The moment up to which all entries of a project are complete; null while some are not. */
  verifiedUpTo(org: string, project: string): Promise<string | null>;
}

/** The team's own database (contracts.md "database"), as it is opened and closed: its users take the role they need. */
export interface FeedbackStore
  extends PassStore,
    RefreshStore,
    EntryStore,
    PrivacyStore,
    FigureStore,
    RunRecords,
    AuditRecords,
    NoticeRecords,
    OutgoingEntries,
    FeedbackSearch,
    StoreLineage {
  /** Writes and removes a row, to show that the store is writable. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}
