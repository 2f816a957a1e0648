import type { FeedbackEntry, RejectedEntry } from '../feedback/rules/feedback-entry.ts';

/** Query of "Get user feedback" (service-interface.md, endpoint 1). */
export interface FeedbackQuery {
  dateFrom?: string;
  dateTo?: string;
  source?: string;
  status?: readonly string[];
  limit?: number;
  cursor?: string;
}

export interface FeedbackPage {
  entries: FeedbackEntry[];
  /** Unreadable entries; stored separately, never dropped (S1). */
  rejected: RejectedEntry[];
  nextCursor: string | null;
  hasMore: boolean;
}

/** State of a job, with its progress from any readable shape. */
export interface ExportJob {
  jobId: string;
  status: string;
  /** `completed` and `failed` are known, in capitals too; every other value counts as running (E2). */
  state: 'running' | 'completed' | 'failed';
  /** 0 to 100, or null when `progress` is absent or unreadable. */
  percent: number | null;
  pageCount: number | null;
  /** The job's own explanation, cut to 500 characters and without links, only when failed. */
  error: string | null;
}

export interface BundleLink {
  /** The presigned link: a secret (E3). */
  url: URL;
  sizeBytes: number | null;
  /** Milliseconds since the epoch by the service's clock, or null. */
  expiresAtMs: number | null;
}

export interface RequestOptions {
  signal?: AbortSignal;
  /** The budget's last check, synchronous, right before the request may leave; throwing stops it (B1). */
  beforeSend?: () => void;
  /** Called once the request is written: a process stopped in between notices how late it is (B1). Must not throw. */
  afterWrite?: () => void;
  /** Called with the `Date` of the service's answer in milliseconds, if it has one. */
  onDate?: (serviceMs: number) => void;
}
