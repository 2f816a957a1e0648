import type { FeedbackRecord } from './feedback-record.ts';

/** How a record becomes text. */
export interface LineFormat {
  /** What the file begins with, with its line end; empty for nothing. */
  header: string;
  /** A record with its line end. */
  line(record: FeedbackRecord): string;
}

/** A part of a file; text goes there as UTF-8. */
export type Piece = string | Uint8Array;

/** Turns records into the parts of one file, in their order. */
export interface RecordEncoder {
  /** Takes a record, and hands out the next part when it is large enough to be worth writing. */
  add(record: FeedbackRecord): Piece | null;
  /** The last part. */
  end(): Piece;
}
