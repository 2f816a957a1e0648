import type { PassRow } from '../reading/pass-store.ts';
import type { ProjectKey } from '../rules/feedback-entry.ts';
import type { VerifiedRange } from '../rules/pass-bounds.ts';
import type { FirstReading } from '../rules/refresh/expected.ts';

/** How many entries have a value in common. */
export interface Count {
  name: string;
  entries: number;
}

/** A project's stored entries in numbers, without what people wrote. Tombstones count only as tombstones. */
export interface FeedbackStats {
  entries: number;
  tombstones: number;
  rejects: number;
  /** Most entries first. */
  sources: Count[];
  statuses: Count[];
  /** Of contextual entries: whether the page helped. */
  helpful: { yes: number; no: number };
  /** The same by month of `created_at_utc`, oldest first; months without votes are absent. */
  helpfulMonths: { name: string; yes: number; no: number }[];
  /** Months of `created_at_utc` such as `2026-11`, oldest first; those without entries are absent. */
  months: Count[];
  /** Entries without a date that can be understood. */
  undated: number;
  /** The paths of contextual entries that most often did not help, at most ten. */
  paths: { path: string; unhelpful: number; helpful: number }[];
}

/** A project's stored entries in numbers, and how complete they are. */
export interface StoredProject extends ProjectKey {
  /** Entries that the service still has, as far as docferry knows. */
  entries: number;
  rejects: number;
  tombstones: number;
  watermark: string | null;
  everSwept: boolean;
  /** The oldest date of an entry with personal data; null where no dated entry has any. */
  personalSince: string | null;
  /** The moment up to which all entries are known to match the service; null while some are not. */
  verifiedUpTo: string | null;
  /** The same for each stretch of dates, and for entries without a date. */
  verified: { ranges: VerifiedRange[]; undated: string | null };
  /** Its first reading by `refresh`, while that goes on. */
  firstReading: FirstReading | null;
  /** Newest first. */
  passes: PassRow[];
}
