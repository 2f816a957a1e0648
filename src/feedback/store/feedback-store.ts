import type { DeedRecords } from './deed-records.ts';
import type { EntryStore } from './entry-store.ts';
import type { FigureStore } from '../figures/figure-store.ts';
import type { NoticeRecords } from './notice-records.ts';
import type { PassStore } from '../reading/pass-store.ts';
import type { PrivacyStore } from '../privacy/privacy-store.ts';
import type { RunRecords } from './run-records.ts';
import type { FeedbackSearch } from '../search/feedback-search.ts';
import type { StoreLineage } from './store-lineage.ts';

/** The team's own database (contracts.md "database"), as it is opened and closed: its users take the role they need. */
export interface FeedbackStore
  extends PassStore,
    EntryStore,
    PrivacyStore,
    FigureStore,
    RunRecords,
    DeedRecords,
    NoticeRecords,
    FeedbackSearch,
    StoreLineage {
  /** Writes and removes a row, to show that the store is writable. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}
