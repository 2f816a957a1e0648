import type { FeedbackTable } from '../store/tables.ts';

/** A row of the table `feedback` as it is exported. `extra`: empty when there are none. */
export type FeedbackRecord = Omit<FeedbackTable, 'helpful' | 'extra'> & {
  helpful: boolean | null;
  extra: Record<string, unknown>;
};

/** The columns in the order of contracts.md. */
export const recordColumns = [
  'org_id',
  'project_id',
  'id',
  'path',
  'comment',
  'created_at',
  'created_at_utc',
  'source',
  'status',
  'helpful',
  'contact',
  'code',
  'filename',
  'lang',
  'extra',
  'first_seen_at',
  'last_seen_at',
  'deleted_at',
] as const satisfies readonly (keyof FeedbackRecord)[];

/** Which entries of a project to export. */
export interface RecordFilter {
  org: string;
  project: string;
  /** Bounds of `created_at_utc`, UTC ISO 8601 with milliseconds. With either, entries without a date are left out. */
  from?: string;
  /** Exclusive. */
  to?: string;
  /** Any of these; any at all when absent. */
  sources?: readonly string[];
  statuses?: readonly string[];
  /** Entries the service no longer has. */
  includeDeleted: boolean;
}

/** How a record becomes text. */
export interface LineFormat {
  /** What the file begins with, with its line end; empty for nothing. */
  header: string;
  line(record: FeedbackRecord): string;
}

/** A piece of a file; text is written as UTF-8. */
export type Piece = string | Uint8Array;

/** Turns records into the pieces of one file, in their order. */
export interface RecordEncoder {
  /** Takes a record; returns the next piece when it is large enough to be worth writing. */
  add(record: FeedbackRecord): Piece | null;
  end(): Piece;
}
