import type { FeedbackEntry, RejectedEntry } from '../feedback/rules/feedback-entry.ts';

/** Query of "Get user feedback" (service-interface.md, endpoint 1). */
export interface FeedbackQuery {
  dateFrom?: string;
  dateTo?: string;
  source?: string;
  /** Status values, sent comma-separated. */
  status?: readonly string[];
  /** 1 to 100. */
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
  /** As sent. */
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
  /**
   * Called synchronously, immediately before the request may leave the process. Throwing stops the request: nothing
   * was sent. The budget's last check lives here (B1).
   */
  beforeSend?: () => void;
  /**
   * Called once the request is written, before anything can end it. A process that was stopped after `beforeSend` notices
   * here how late it is (B1). Must not throw.
   */
  afterWrite?: () => void;
  /** Called with the `Date` of the service's answer in milliseconds, if it has one. */
  onDate?: (serviceMs: number) => void;
}
