import { inFourDigitYears, isoInstant } from '../../rules/text.ts';

/** A project within its organization. */
export interface ProjectKey {
  org: string;
  project: string;
}

/** A feedback entry as the store keeps it: the fields of service-interface.md "Feedback entry", unknown ones in `extra`. */
export interface FeedbackEntry {
  id: string;
  path: string;
  comment: string | null;
  /** As sent. */
  createdAt: string | null;
  /** Known values or any other string, as sent. */
  source: string;
  status: string;
  /** Fields of the variants; null where the variant lacks them. */
  helpful: boolean | null;
  contact: string | null;
  code: string | null;
  filename: string | null;
  lang: string | null;
  /** Fields the interface does not name, as sent. */
  extra: Record<string, unknown>;
}

/** An entry that docferry cannot understand, with what it needs to understand it later. */
export interface RejectedEntry {
  /** The entry's own id where it has one, else `sha256:` and the first 32 hex digits of the digest of `raw`. */
  id: string;
  /** The entry's JSON text, as sent. */
  raw: string;
  /** Names the field and the type of its value, never the value. */
  reason: string;
}

/** The values service-interface.md "Feedback entry" names; entries may carry others, which are kept as sent. */
export const knownSources: readonly string[] = ['code_snippet', 'contextual', 'agent', 'thumbs_only'];
export const knownStatuses: readonly string[] = ['pending', 'in_progress', 'resolved', 'dismissed'];
/** Statuses of entries that wait for a person (S4). */
export const openStatuses: readonly string[] = ['pending', 'in_progress'];
export const closedStatuses: readonly string[] = ['resolved', 'dismissed'];

/** Counts of what a pass did with the entries it was sent (contracts.md, `feedback sync --wait`). */
export interface EntryCounts {
  seen: number;
  inserted: number;
  updated: number;
  unchanged: number;
  rejected: number;
  tombstoned: number;
}

export const noEntries: EntryCounts = { seen: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0, tombstoned: 0 };

/** Both together; with the sign -1, what `a` has more than `b`. */
export function addCounts(a: EntryCounts, b: EntryCounts, sign: 1 | -1 = 1): EntryCounts {
  return {
    seen: a.seen + sign * b.seen,
    inserted: a.inserted + sign * b.inserted,
    updated: a.updated + sign * b.updated,
    unchanged: a.unchanged + sign * b.unchanged,
    rejected: a.rejected + sign * b.rejected,
    tombstoned: a.tombstoned + sign * b.tombstoned,
  };
}

/**
 * Text as every database can store it: lone surrogates and U+0000 become U+FFFD. SQLite would keep U+0000, PostgreSQL
 * refuses it; replacing it here makes both store the same text (contracts.md "database").
 */
export function storedText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

export function storedTextOrNull(text: string | null): string | null {
  return text === null ? null : storedText(text);
}

/** Unknown fields as JSON text with sorted keys, so that another order is no change; null when there are none. */
export function storedExtra(extra: Readonly<Record<string, unknown>>): string | null {
  return Object.keys(extra).length === 0 ? null : JSON.stringify(stored(extra));
}

function stored(value: unknown): unknown {
  if (typeof value === 'string') return storedText(value);
  if (Array.isArray(value)) return value.map(stored);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, field]) => [storedText(key), stored(field)] as const);
  // fromEntries defines properties, so that a field named `__proto__` stays a field.
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

const rfc1123 =
  /^(?:[a-z]{3},\s*)?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d{2}:\d{2}(?::\d{2})?)\s*(GMT|UTC?|Z|[+-]\d{2}:?\d{2})$/i;
const epochSeconds = /^\d{9,10}(?:\.\d{1,9})?$/;
const epochMilliseconds = /^\d{12,13}$/;
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * Reads the `createdAt` of an entry, whose format service-interface.md leaves open, into UTC ISO 8601 with milliseconds
 * (24 characters, so that text order is time order); null where it cannot be understood. Never throws.
 *
 * Understood: ISO 8601 with or without zone, a date alone, seconds or milliseconds since the epoch as digits, RFC 1123.
 * What names no zone is taken as UTC: the overlap of incremental passes covers the error this may cause.
 */
export function createdAtUtc(createdAt: string | null): string | null {
  const ms = instant(createdAt?.trim() ?? '');
  return ms === null ? null : new Date(ms).toISOString();
}

function instant(text: string): number | null {
  if (epochSeconds.test(text)) return inFourDigitYears(Math.trunc(Number(text) * 1000));
  if (epochMilliseconds.test(text)) return inFourDigitYears(Number(text));
  const [rfc, day = '', name = '', year, time, zone = ''] = rfc1123.exec(text) ?? [];
  if (rfc === undefined) return isoInstant(text);
  const month = String(months.indexOf(name.toLowerCase()) + 1).padStart(2, '0');
  const offset = /^[+-]/.test(zone) ? zone : 'Z';
  return isoInstant(`${year}-${month}-${day.padStart(2, '0')}T${time}${offset}`);
}
