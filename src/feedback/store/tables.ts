import type { Generated } from 'kysely';
import { inFourDigitYears, isoInstant } from '../../rules/text.ts';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import type { NoticeType } from '../../runs/rules/notices.ts';
import type { FeedbackRecord } from '../files/feedback-record.ts';
import type { PassRow } from '../reading/pass-store.ts';
import type { ReadingKind } from '../rules/pass-bounds.ts';
import type { RefreshList } from '../rules/refresh/pages.ts';
import type { PassSlice, SliceStage } from '../rules/slice.ts';
import type { ExportRunRow } from './run-records.ts';

type Camel<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<Camel<Rest>>}`
  : Name;
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;

/** A row with its columns named as fields. */
type Fields<Row> = { [Column in keyof Row as Camel<Column & string>]: Row[Column] };
/** Fields named as the columns that hold them. */
type Columns<Row> = { [Field in keyof Row as Snake<Field & string>]: Row[Field] };

/** `first_seen_at` becomes `firstSeenAt`. */
export function fieldsOf<Row extends object>(row: Row): Fields<Row> {
  return renamed(row, (column) => column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())) as Fields<Row>;
}

/** `firstSeenAt` becomes `first_seen_at`. */
export function columnsOf<Row extends object>(fields: Row): Columns<Row> {
  return renamed(fields, (field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) as Columns<Row>;
}

function renamed(row: object, rename: (name: string) => string): object {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [rename(name), value]));
}

/*
 * The tables as the query builder sees them (contracts.md "database"). Times are UTC ISO 8601 text with milliseconds,
 * booleans 0 and 1: both read the same from SQLite and PostgreSQL, and text order is time order.
 */

export interface FeedbackTable extends Omit<FeedbackRecord, 'helpful' | 'extra'> {
  helpful: number | null;
  /** JSON text of the fields service-interface.md does not name; null when there are none. */
  extra: string | null;
}

export interface FeedbackChangesTable {
  project_id: string;
  id: string;
  field: string;
  old: string | null;
  new: string | null;
  seen_at: string;
}

export interface FeedbackRejectsTable {
  project_id: string;
  id: string;
  raw: string;
  reason: string;
  seen_at: string;
}

export interface SyncPassesTable {
  pass_id: string;
  org_id: string;
  project_id: string;
  pass: ReadingKind;
  workflow_id: string;
  run_id: string;
  date_from: string | null;
  date_to: string | null;
  started_at: string;
  finished_at: string | null;
  outcome: PassRow['outcome'];
  error: string | null;
  /** Pages committed: with `next_cursor` and `complete` the position of the pass. */
  pages: Generated<number>;
  next_cursor: string | null;
  complete: Generated<number>;
  requests: Generated<number>;
  throttled: Generated<number>;
  /** A `bigint` column: PostgreSQL hands it out as text. */
  waited_ms: Generated<number | string>;
  seen: Generated<number>;
  inserted: Generated<number>;
  updated: Generated<number>;
  unchanged: Generated<number>;
  rejected: Generated<number>;
  tombstoned: Generated<number>;
  greatest_created_at: string | null;
  /** The project's watermark as this pass left it; null unless it completed and could move it. */
  watermark: string | null;
  /** Requests that its slices are expected to take; null while one is unknown. */
  expected_pages: number | null;
}

/** One query of a pass and how far it was read: `PassSlice`. */
export interface SyncSlicesTable {
  pass_id: string;
  /** Counted from 1 in the order they were planned. */
  slice: number;
  stage: SliceStage;
  date_from: string | null;
  date_to: string | null;
  source: string | null;
  /** Comma-separated. */
  statuses: string | null;
  expected_pages: number | null;
  outcome: PassSlice['outcome'];
  started_at: string | null;
  pages: Generated<number>;
  entries: Generated<number>;
  repeats: Generated<number>;
  /** Pages in a row that brought nothing new. */
  barren_pages: Generated<number>;
  entry_order: PassSlice['order'];
  oldest_seen: string | null;
  newest_seen: string | null;
  reached: string | null;
  undated_place: PassSlice['undatedPlace'];
  joins_at: string | null;
  /** A `bigint` column: PostgreSQL hands it out as text. */
  slack_ms: Generated<number | string>;
  last_cursor: string | null;
  last_digest: string | null;
  verified: Generated<number>;
}

/** What docferry has learnt about the service of a project. */
interface SyncTraitsTable {
  org_id: string;
  project_id: string;
  /** 1: the service takes date-times for their dates. */
  coarse_dates: Generated<number>;
}

/** `VerifiedRange`s of a project in their order, and one row for entries without a date. */
interface VerifiedRangesTable {
  org_id: string;
  project_id: string;
  place: number;
  undated: number;
  date_from: string | null;
  date_to: string | null;
  verified_up_to: string | null;
}

/** Digests of the cursors and pages of a running pass's slices, to notice one that repeats (S3). */
interface SyncCursorsTable {
  pass_id: string;
  digest: string;
}

/** What refresh knows of a project (`refresh-state.ts`). Moments in milliseconds since the epoch. */
export interface RefreshProjectsTable {
  org_id: string;
  project_id: string;
  /** When its lists were cut into pages, and the rates then as JSON; null before its first reading is done. */
  cut_at: number | null;
  rates: string | null;
  arrivals_at: Generated<number>;
  arrivals_long: Generated<number>;
  arrivals_short: Generated<number>;
  /** When `refresh_rates` faded last. */
  taught_at: Generated<number>;
  /** Entries that the service sends in a page; 0 while that is not known. */
  page_size: Generated<number>;
  ignores_status: Generated<number>;
  oldest_first: Generated<number>;
  /** 1: a reading between two dates has returned the entries at both. */
  exact_dates: Generated<number>;
  /** 1: something was learnt of the service since the lists were cut. */
  reshaped: Generated<number>;
  /** The pass that reads it for the first time, while it goes on. */
  first_pass: string | null;
  /** After a failure, nothing of the first reading is requested before. */
  not_before: Generated<number>;
  /** When the latest answer came, of whatever pass, and when the last reading of its newest entries began. UTC ISO 8601. */
  answered_at: string | null;
  head_read_at: string | null;
}

/** Changes seen among the entries of a class, and the hours over which they were seen. */
interface RefreshRatesTable {
  org_id: string;
  project_id: string;
  kind: number;
  changes: number;
  hours: number;
}

/** A stretch of a project's list: `RefreshPage`. Bounds outside all dates stand for none. */
export interface RefreshPagesTable {
  org_id: string;
  project_id: string;
  list: RefreshList;
  date_from: number;
  date_to: number;
  cut_at: number;
  entries: number;
  rate: number;
  open_rate: number;
  rate_seen: number;
  rate_seen_squared: number;
  left_entries: number;
  left_since: number;
  requests: number;
  read_at: number | null;
  again: number | null;
  again_from: number | null;
  /** After a failure, it is not requested before. */
  not_before: Generated<number>;
  /** The pass that reads it now. */
  pass_id: string | null;
}

interface RefreshEntriesTable {
  project_id: string;
  id: string;
  changed_at: number | null;
  left_at: number | null;
}

/** The pace of an organization as JSON (`Pace`). */
interface RefreshPacesTable {
  org_id: string;
  pace: string;
}

interface ExportRunsTable extends Columns<Omit<ExportRunRow, 'org' | 'jobMs'>> {
  org_id: string;
  /** A `bigint` column: PostgreSQL hands it out as text. */
  job_ms: number | string | null;
}

/** One row. */
interface StoreIdentityTable {
  only_row: number;
  identity: string;
}

/** One row for each store that this one was restored or moved from (`store-lineage.ts`). */
interface RetiredIdentitiesTable {
  /** Counted from 1. */
  place: number;
  identity: string;
  retired_at: string;
  reason: string;
}

/** One row: the store's own key (`storeKey`). */
interface StoreKeyTable {
  only_row: number;
  key: string;
}

/** One row for each erasure: counts of what it removed, and a keyed hash of the person, who stays out of the store. */
interface ErasuresTable {
  erasure_id: string;
  contact: string;
  /** Null: of all projects, those to come included. */
  project_id: string | null;
  erased_at: string;
  entries: number;
  changes: number;
  rejects: number;
}

/** One row an audit entry (audit.md). */
export interface AuditTable extends Columns<Omit<AuditEntry, 'org'>> {
  org_id: string | null;
}

/** Notices sent to people: one row for each event and subject that ever held. */
interface NoticesTable {
  org_id: string;
  type: NoticeType;
  subject: string;
  /** 1 while it holds. */
  open: number;
  since: string;
  until: string | null;
  mark: string | null;
  reason: string | null;
  /** JSON text. */
  facts: string;
  changed_at: string;
  /** What people were told last: 1 that it holds. */
  told: number;
  told_at: string | null;
}

/** The words of an entry, under its place in the order of answers (`placeOfDate`). */
interface SearchEntriesTable {
  /** A `bigint` column: PostgreSQL hands it out as text. */
  place: number | string;
  project_id: string;
  id: string;
  /** A `bigint` column. */
  first_seen_ms: number | string;
  /** A `tsvector` on PostgreSQL. */
  words: string;
}

/** One row: how far the index has been built over the entries of a moved store. */
export interface SearchProgressTable {
  only_row: number;
  /** Key of the last entry that the builder has passed. */
  project_id: string;
  id: string;
  passed: number;
  /** Counted when the building began; 0 before. */
  entries: number;
  complete: number;
  /** When PostgreSQL's index was last rebuilt without words of removed entries. */
  cleaned_at: string | null;
}

/** The last change of an entry (`outgoing-entries.ts`). */
interface FeedbackPositionsTable {
  project_id: string;
  id: string;
  /** A `bigint` column. */
  change: number | string;
}

/** How far a webhook has come: with the changes of a project, or with its digests. */
interface WebhookPositionsTable {
  org_id: string;
  webhook: string;
  about: string;
  /** A `bigint` column. */
  position: number | string;
}

export interface FeedbackDatabase {
  audit: AuditTable;
  feedback: FeedbackTable;
  feedback_changes: FeedbackChangesTable;
  feedback_rejects: FeedbackRejectsTable;
  sync_passes: SyncPassesTable;
  sync_cursors: SyncCursorsTable;
  sync_slices: SyncSlicesTable;
  sync_traits: SyncTraitsTable;
  verified_ranges: VerifiedRangesTable;
  refresh_projects: RefreshProjectsTable;
  refresh_paces: RefreshPacesTable;
  refresh_rates: RefreshRatesTable;
  refresh_pages: RefreshPagesTable;
  refresh_entries: RefreshEntriesTable;
  export_runs: ExportRunsTable;
  store_identity: StoreIdentityTable;
  retired_identities: RetiredIdentitiesTable;
  store_key: StoreKeyTable;
  erasures: ErasuresTable;
  notices: NoticesTable;
  feedback_positions: FeedbackPositionsTable;
  webhook_positions: WebhookPositionsTable;
  search_entries: SearchEntriesTable;
  search_progress: SearchProgressTable;
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

/**
 * Unknown fields as JSON text, null when there are none. Keys are sorted at every level, so that an entry sent with
 * its fields in another order counts as unchanged.
 */
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

/**
 * Every table of a feedback store, those that others refer to before those; a table that is missing here does not compile.
 * False: its rows are derived from other tables.
 */
const present: Readonly<Record<keyof FeedbackDatabase, boolean>> = {
  store_identity: true,
  retired_identities: true,
  store_key: true,
  feedback: true,
  feedback_changes: true,
  feedback_rejects: true,
  sync_passes: true,
  sync_cursors: true,
  sync_slices: true,
  sync_traits: true,
  verified_ranges: true,
  refresh_projects: true,
  refresh_paces: true,
  refresh_rates: true,
  refresh_pages: true,
  refresh_entries: true,
  export_runs: true,
  erasures: true,
  audit: true,
  notices: true,
  feedback_positions: true,
  webhook_positions: true,
  search_entries: false,
  search_progress: false,
};

/** The tables that every treatment of the whole store, such as a move to another database, must include. */
export const ourTables: readonly (keyof FeedbackDatabase)[] = Object.keys(present)
  .filter(isOurTable)
  .filter((name) => present[name]);

export function isOurTable(name: string): name is keyof FeedbackDatabase {
  return Object.hasOwn(present, name);
}
