import type { FeedbackRecord } from './feedback-record.ts';

/** How a record becomes text. */
export interface LineFormat {
  /** What the file begins with, with its line end; empty for nothing. */
  header: string;
  /** A record with its line end. */
  line(record: FeedbackRecord): string;
}

/** A piece of a file; text is written as UTF-8. */
export type Piece = string | Uint8Array;

/** Turns records into the pieces of one file, in their order. */
export interface RecordEncoder {
  /** Takes a record; returns the next piece when it is large enough to be worth writing. */
  add(record: FeedbackRecord): Piece | null;
  /** The last piece. */
  end(): Piece;
}
