import type { FeedbackRecord } from './feedback-record.ts';

/** How records become text. */
export interface RecordFormat {
  /** What the file begins with, with its line end; empty for nothing. */
  header: string;
  /** A record with its line end. */
  line(record: FeedbackRecord): string;
}
