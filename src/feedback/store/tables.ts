import type { Generated, Kysely, Transaction } from 'kysely';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import type { NoticeType } from '../../runs/rules/notices.ts';
import type { RefreshList } from '../rules/refresh/pages.ts';
import type { PassSlice, SliceStage } from '../rules/slice.ts';
import type { PassOutcome, ReadingKind } from '../rules/sync.ts';
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

interface Column<Type> {
  /** Its type in SQL, with what goes with it. */
  sql: string;
  onPostgres: string;
  /** The type of its values, which only the compiler sees. */
  type?: Type;
}

const column = <Type>(sql: string, onPostgres = sql): Column<Type> => ({ sql, onPostgres });
const text = column<string>('text not null');
const textOrNull = column<string | null>('text');
const integer = column<number>('integer not null');
const integerOrNull = column<number | null>('integer');
const integerFromZero = column<Generated<number>>('integer not null default 0');
const double = column<number>('double precision not null');
const doubleOrNull = column<number | null>('double precision');
const doubleFromZero = column<Generated<number>>('double precision not null default 0');
/** PostgreSQL hands it out as text. */
const bigint = column<number | string>('bigint not null');

interface Table {
  columns: Readonly<Record<string, Column<unknown>>>;
  /** The columns of its primary key, where that is not one column. */
  key?: string;
  /** Its rows go with the entry that `project_id` and `id` name. */
  ofEntry?: true;
  /** Statements that follow its creation. */
  after?: readonly string[];
  /** Its rows come from other tables: a copy of the store leaves them out. */
  derived?: true;
}

/**
 * The tables of contracts.md "database", those that others refer to before those. Times are UTC ISO 8601 text with
 * milliseconds, booleans 0 and 1: both read the same from SQLite and PostgreSQL, and text order is time order. Columns of
 * a later migration are added to `FeedbackDatabase`, not here.
 */
const tables = {
  /** One row. */
  store_identity: {
    columns: { only_row: column<number>('integer primary key'), identity: text },
  },
  /** One row for each store that this one was restored or moved from (`store-lineage.ts`). */
  retired_identities: {
    columns: {
      /** Counted from 1. */
      place: column<number>('integer primary key'),
      identity: text,
      retired_at: text,
      reason: text,
    },
  },
  /** One row: the store's own key (`storeKey`). */
  store_key: {
    columns: { only_row: column<number>('integer primary key'), key: text },
  },
  feedback: {
    columns: {
      org_id: text,
      project_id: text,
      id: text,
      path: text,
      comment: textOrNull,
      /** As sent. */
      created_at: textOrNull,
      /** Null where `created_at` cannot be understood. */
      created_at_utc: textOrNull,
      source: text,
      status: text,
      helpful: integerOrNull,
      contact: textOrNull,
      code: textOrNull,
      filename: textOrNull,
      lang: textOrNull,
      /** JSON text of the fields service-interface.md does not name; null when there are none. */
      extra: textOrNull,
      first_seen_at: text,
      last_seen_at: text,
      deleted_at: textOrNull,
    },
    key: 'project_id, id',
    after: [
      // The order of the records in files: without it every page of them would sort the whole table.
      'create index feedback_by_date on feedback (project_id, created_at_utc, id)',
      // Entries with something personal, by age: without it every pass would look at all entries (`holdsPersonal`).
      `create index feedback_personal_by_date on feedback (project_id, created_at_utc, first_seen_at)
        where contact is not null or comment is not null or code is not null or extra is not null`,
    ],
  },
  feedback_changes: {
    columns: {
      project_id: text,
      id: text,
      field: text,
      old: textOrNull,
      new: textOrNull,
      seen_at: text,
    },
    ofEntry: true,
    after: ['create index feedback_changes_by_entry on feedback_changes (project_id, id)'],
  },
  feedback_rejects: {
    columns: { project_id: text, id: text, raw: text, reason: text, seen_at: text },
    key: 'project_id, id',
  },
  sync_passes: {
    columns: {
      pass_id: column<string>('text primary key'),
      org_id: text,
      project_id: text,
      pass: column<ReadingKind>('text not null'),
      workflow_id: text,
      run_id: text,
      /** Bounds of the pass as sent to the service. */
      date_from: textOrNull,
      date_to: textOrNull,
      started_at: text,
      finished_at: textOrNull,
      /** `running` until finished. */
      outcome: column<PassOutcome>('text not null'),
      /** Failure type and message, without content. */
      error: textOrNull,
      /** Pages committed: with `next_cursor` and `complete` the position of the pass. */
      pages: integerFromZero,
      next_cursor: textOrNull,
      complete: integerFromZero,
      requests: integerFromZero,
      throttled: integerFromZero,
      waited_ms: column<Generated<number | string>>('bigint not null default 0'),
      seen: integerFromZero,
      inserted: integerFromZero,
      updated: integerFromZero,
      unchanged: integerFromZero,
      rejected: integerFromZero,
      tombstoned: integerFromZero,
      /** Greatest understood `createdAt` that this pass has seen, UTC ISO 8601; null if none. */
      greatest_created_at: textOrNull,
      /** The project's watermark as this pass left it; null unless it completed and could move it. */
      watermark: textOrNull,
      /** Requests that its slices are expected to take; null while one is unknown. */
      expected_pages: integerOrNull,
    },
    after: [
      'create index sync_passes_by_project on sync_passes (org_id, project_id, started_at)',
      // The latest pass of each kind: a rare kind would be looked for among all of the frequent ones.
      'create index sync_passes_by_kind on sync_passes (org_id, project_id, pass, started_at)',
      'create index sync_passes_by_run on sync_passes (run_id)',
      'create index sync_passes_by_end on sync_passes (finished_at)',
      "create index sync_passes_running on sync_passes (org_id, project_id) where outcome = 'running'",
    ],
  },
  /** Digests of the cursors and pages of a running pass's slices, to notice one that repeats (S3). */
  sync_cursors: {
    columns: {
      pass_id: column<string>('text not null references sync_passes (pass_id) on delete cascade'),
      digest: text,
    },
    key: 'pass_id, digest',
  },
  /** One query of a pass and how far it was read: `PassSlice`. */
  sync_slices: {
    columns: {
      pass_id: column<string>('text not null references sync_passes (pass_id) on delete cascade'),
      /** Counted from 1 in the order they were planned. */
      slice: integer,
      stage: column<SliceStage>('text not null'),
      date_from: textOrNull,
      date_to: textOrNull,
      source: textOrNull,
      /** Comma-separated. */
      statuses: textOrNull,
      expected_pages: integerOrNull,
      outcome: column<PassSlice['outcome']>('text not null'),
      started_at: textOrNull,
      pages: integerFromZero,
      entries: integerFromZero,
      repeats: integerFromZero,
      /** Pages in a row that brought nothing new. */
      barren_pages: integerFromZero,
      entry_order: column<PassSlice['order']>('text'),
      oldest_seen: textOrNull,
      newest_seen: textOrNull,
      reached: textOrNull,
      undated_place: column<PassSlice['undatedPlace']>('text'),
      joins_at: textOrNull,
      slack_ms: column<Generated<number | string>>('bigint not null default 0'),
      last_cursor: textOrNull,
      last_digest: textOrNull,
      verified: integerFromZero,
    },
    key: 'pass_id, slice',
  },
  /** What docferry has learnt about the service of a project. */
  sync_traits: {
    columns: {
      org_id: text,
      project_id: text,
      /** 1: the service takes date-times for their dates. */
      coarse_dates: integerFromZero,
    },
    key: 'org_id, project_id',
  },
  /** `VerifiedRange`s of a project in their order, and one row for entries without a date. */
  verified_ranges: {
    columns: {
      org_id: text,
      project_id: text,
      place: integer,
      undated: integer,
      date_from: textOrNull,
      date_to: textOrNull,
      verified_up_to: textOrNull,
    },
    key: 'org_id, project_id, place',
  },
  /** What refresh knows of a project (`refresh-state.ts`). Moments in milliseconds since the epoch. */
  refresh_projects: {
    columns: {
      org_id: text,
      project_id: text,
      /** When its lists were cut into pages, and the rates then as JSON; null before its first reading is done. */
      cut_at: doubleOrNull,
      rates: textOrNull,
      arrivals_at: doubleFromZero,
      arrivals_long: doubleFromZero,
      arrivals_short: doubleFromZero,
      /** When `refresh_rates` faded last. */
      taught_at: doubleFromZero,
      /** Entries that the service sends in a page; 0 while that is not known. */
      page_size: integerFromZero,
      ignores_status: integerFromZero,
      oldest_first: integerFromZero,
      /** 1: a reading between two dates has returned the entries at both. */
      exact_dates: integerFromZero,
      /** 1: something was learnt of the service since the lists were cut. */
      reshaped: integerFromZero,
      /** The pass that reads it for the first time, while it goes on. */
      first_pass: textOrNull,
      /** After a failure, nothing of the first reading is requested before. */
      not_before: doubleFromZero,
      /** When the latest answer came, of whatever pass, and when the last reading of its newest entries began. UTC ISO 8601. */
      answered_at: textOrNull,
      head_read_at: textOrNull,
    },
    key: 'org_id, project_id',
  },
  /** The pace of an organization as JSON (`Pace`). */
  refresh_paces: {
    columns: { org_id: column<string>('text primary key'), pace: text },
  },
  /** Changes seen among the entries of a class, and the hours over which they were seen. */
  refresh_rates: {
    columns: { org_id: text, project_id: text, kind: integer, changes: double, hours: double },
    key: 'org_id, project_id, kind',
  },
  /** A stretch of a project's list: `RefreshPage`. Bounds outside all dates stand for none. */
  refresh_pages: {
    columns: {
      org_id: text,
      project_id: text,
      list: column<RefreshList>('text not null'),
      date_from: double,
      date_to: double,
      cut_at: double,
      entries: integer,
      rate: double,
      open_rate: double,
      rate_seen: double,
      rate_seen_squared: double,
      left_entries: integer,
      left_since: double,
      requests: double,
      read_at: doubleOrNull,
      again: doubleOrNull,
      again_from: doubleOrNull,
      /** After a failure, it is not requested before. */
      not_before: doubleFromZero,
      /** The pass that reads it now. */
      pass_id: textOrNull,
    },
    key: 'org_id, project_id, list, date_from',
    after: ['create index refresh_pages_by_pass on refresh_pages (pass_id) where pass_id is not null'],
  },
  /** Entries whose status was seen to change, or that are known to have left the open list. */
  refresh_entries: {
    columns: { project_id: text, id: text, changed_at: doubleOrNull, left_at: doubleOrNull },
    key: 'project_id, id',
    ofEntry: true,
  },
  export_runs: {
    columns: {
      workflow_id: text,
      run_id: text,
      org_id: text,
      domain: text,
      started_at: text,
      finished_at: text,
      outcome: column<ExportRunRow['outcome']>('text not null'),
      job_id: textOrNull,
      jobs_started: integer,
      version: textOrNull,
      content_digest: textOrNull,
      polls: integer,
      detail: text,
      job_ms: column<number | string | null>('bigint'),
    },
    key: 'workflow_id, run_id',
    after: [
      'create index export_runs_by_domain on export_runs (org_id, domain, started_at)',
      'create index export_runs_by_end on export_runs (finished_at)',
    ],
  },
  /** One row for each erasure: counts of what it removed, and a keyed hash of the person, who stays out of the store. */
  erasures: {
    columns: {
      erasure_id: column<string>('text primary key'),
      contact: text,
      /** Null: of all projects, those to come included. */
      project_id: textOrNull,
      erased_at: text,
      entries: integer,
      changes: integer,
      rejects: integer,
    },
    after: ['create index erasures_by_contact on erasures (contact)'],
  },
  /** One row an audit entry (audit.md). */
  audit: {
    columns: {
      entry_id: column<string>('text primary key'),
      at: text,
      action: column<AuditEntry['action']>('text not null'),
      who: text,
      detail: text,
      org_id: textOrNull,
      subject: textOrNull,
      reason: textOrNull,
      workflow_id: textOrNull,
    },
    after: ['create index audit_by_time on audit (at, entry_id)'],
  },
  /** Notices sent to people: one row for each event and subject that ever held. */
  notices: {
    columns: {
      org_id: text,
      type: column<NoticeType>('text not null'),
      subject: text,
      /** 1 while it holds. */
      open: integer,
      since: text,
      until: textOrNull,
      mark: textOrNull,
      reason: textOrNull,
      /** JSON text. */
      facts: text,
      changed_at: text,
      /** What people were told last: 1 that it holds. */
      told: integer,
      told_at: textOrNull,
    },
    key: 'org_id, type, subject',
  },
  /** The last change of an entry (`outgoing-entries.ts`). */
  feedback_positions: {
    columns: { project_id: text, id: text, change: bigint },
    key: 'project_id, id',
    ofEntry: true,
    after: ['create index feedback_positions_in_order on feedback_positions (project_id, change)'],
  },
  /** How far a webhook has come: with the changes of a project, or with its digests. */
  webhook_positions: {
    columns: { org_id: text, webhook: text, about: text, position: bigint },
    key: 'org_id, webhook, about',
  },
  /** The words of an entry, under its place in the order of answers (`placeOfDate`). */
  search_entries: {
    columns: {
      place: column<number | string>('integer primary key', 'bigint primary key'),
      project_id: text,
      id: text,
      first_seen_ms: bigint,
      words: column<string>('text not null', 'tsvector not null'),
    },
    ofEntry: true,
    after: [
      'create unique index search_entries_by_entry on search_entries (project_id, id)',
      // Finds entries newer than a moment without reading every hit.
      'create index search_entries_by_first_sight on search_entries (first_seen_ms)',
    ],
    derived: true,
  },
  /** One row: how far the index has been built over the entries of a moved store. */
  search_progress: {
    columns: {
      only_row: column<number>('integer primary key'),
      /** Key of the last entry that the builder has passed. */
      project_id: text,
      id: text,
      passed: integer,
      /** Counted when the building began; 0 before. */
      entries: integer,
      complete: integer,
      /** When PostgreSQL's index was last rebuilt without words of removed entries. */
      cleaned_at: textOrNull,
    },
    after: ["insert into search_progress values (1, '', '', 0, 0, 1, null)"],
    derived: true,
  },
} satisfies Readonly<Record<string, Table>>;

type RowOf<Columns> = { [Name in keyof Columns]: Columns[Name] extends Column<infer Type> ? Type : never };

/** The tables as the query builder sees them. */
export type FeedbackDatabase = { [Name in keyof typeof tables]: RowOf<(typeof tables)[Name]['columns']> };
export type FeedbackTable = FeedbackDatabase['feedback'];
export type Db = Kysely<FeedbackDatabase>;
export type Trx = Transaction<FeedbackDatabase>;

/** What makes the tables. PostgreSQL compares and sorts text by its bytes, as SQLite does, in any locale (decisions/0030). */
export function tableStatements(onPostgres: boolean): string[] {
  return Object.entries<Table>(tables).flatMap(([name, { columns, key, ofEntry, after = [] }]) => {
    const lines = Object.entries(columns).map(
      ([column, { sql, onPostgres: other }]) =>
        `${column} ${onPostgres ? other.replace(/^text\b/, 'text collate "C"') : sql}`,
    );
    if (key !== undefined) lines.push(`constraint ${name}_key primary key (${key})`);
    const entry = 'foreign key (project_id, id) references feedback (project_id, id) on delete cascade';
    if (ofEntry) lines.push(`constraint ${name}_entry ${entry}`);
    return [`create table ${name} (${lines.join(', ')})`, ...after];
  });
}

/** The tables that every treatment of the whole store, such as a move to another database, must include. */
export const ourTables: readonly (keyof FeedbackDatabase)[] = Object.keys(tables)
  .filter(isOurTable)
  .filter((name) => !('derived' in tables[name]));

export function isOurTable(name: string): name is keyof FeedbackDatabase {
  return Object.hasOwn(tables, name);
}
