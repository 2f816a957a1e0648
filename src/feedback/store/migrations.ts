import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { FeedbackStoreUnavailable } from './feedback-store-unavailable.ts';
import { isPostgres } from './queries.ts';
import type { FeedbackDatabase } from './tables.ts';

/**
 * The tables of contracts.md, in the types that SQLite and PostgreSQL share: `text`, `integer`, and `bigint` for
 * milliseconds.
 */
const tables: Migration = {
  async up(db: Kysely<FeedbackDatabase>): Promise<void> {
    const onPostgres = isPostgres(db);
    const statements = [...shared, ...(onPostgres ? searchOnPostgres : searchOnSqlite)];
    for (const statement of statements) {
      // PostgreSQL compares and sorts text by its bytes, as SQLite does, in any locale of the database (decisions/0030).
      const text = onPostgres ? statement.replaceAll(/ text\b/g, ' text collate "C"') : statement;
      await sql.raw(text).execute(db);
    }
  },
};

const shared = [
  `create table feedback (
    org_id text not null,
    project_id text not null,
    id text not null,
    path text not null,
    comment text,
    created_at text,
    created_at_utc text,
    source text not null,
    status text not null,
    helpful integer,
    contact text,
    code text,
    filename text,
    lang text,
    extra text,
    first_seen_at text not null,
    last_seen_at text not null,
    deleted_at text,
    constraint feedback_key primary key (project_id, id))`,
  // The order of the records in files: without it every page of them would sort the whole table.
  'create index feedback_by_date on feedback (project_id, created_at_utc, id)',
  // Entries with something personal, by age: without it every pass would look at all entries (`holdsPersonal`).
  `create index feedback_personal_by_date on feedback (project_id, created_at_utc, first_seen_at)
    where contact is not null or comment is not null or code is not null or extra is not null`,

  `create table feedback_changes (
    project_id text not null,
    id text not null,
    field text not null,
    old text,
    new text,
    seen_at text not null,
    constraint feedback_changes_entry foreign key (project_id, id)
      references feedback (project_id, id) on delete cascade)`,
  'create index feedback_changes_by_entry on feedback_changes (project_id, id)',

  `create table feedback_rejects (
    project_id text not null,
    id text not null,
    raw text not null,
    reason text not null,
    seen_at text not null,
    constraint feedback_rejects_key primary key (project_id, id))`,

  `create table sync_passes (
    pass_id text primary key,
    org_id text not null,
    project_id text not null,
    pass text not null,
    workflow_id text not null,
    run_id text not null,
    date_from text,
    date_to text,
    started_at text not null,
    finished_at text,
    outcome text not null,
    error text,
    pages integer not null default 0,
    next_cursor text,
    complete integer not null default 0,
    requests integer not null default 0,
    throttled integer not null default 0,
    waited_ms bigint not null default 0,
    seen integer not null default 0,
    inserted integer not null default 0,
    updated integer not null default 0,
    unchanged integer not null default 0,
    rejected integer not null default 0,
    tombstoned integer not null default 0,
    greatest_created_at text,
    watermark text,
    expected_pages integer)`,
  'create index sync_passes_by_project on sync_passes (org_id, project_id, started_at)',
  // The latest pass of each kind: a rare kind would be looked for among all of the frequent ones.
  'create index sync_passes_by_kind on sync_passes (org_id, project_id, pass, started_at)',

  'create index sync_passes_by_run on sync_passes (run_id)',
  "create index sync_passes_running on sync_passes (org_id, project_id) where outcome = 'running'",

  `create table sync_cursors (
    pass_id text not null references sync_passes (pass_id) on delete cascade,
    digest text not null,
    constraint sync_cursors_key primary key (pass_id, digest))`,

  `create table sync_slices (
    pass_id text not null references sync_passes (pass_id) on delete cascade,
    slice integer not null,
    stage text not null,
    date_from text,
    date_to text,
    source text,
    statuses text,
    expected_pages integer,
    outcome text not null,
    started_at text,
    pages integer not null default 0,
    entries integer not null default 0,
    repeats integer not null default 0,
    barren_pages integer not null default 0,
    entry_order text,
    oldest_seen text,
    newest_seen text,
    reached text,
    undated_place text,
    joins_at text,
    slack_ms bigint not null default 0,
    last_cursor text,
    last_digest text,
    verified integer not null default 0,
    constraint sync_slices_key primary key (pass_id, slice))`,

  `create table sync_traits (
    org_id text not null,
    project_id text not null,
    coarse_dates integer not null default 0,
    constraint sync_traits_key primary key (org_id, project_id))`,

  `create table verified_ranges (
    org_id text not null,
    project_id text not null,
    place integer not null,
    undated integer not null,
    date_from text,
    date_to text,
    verified_up_to text,
    constraint verified_ranges_key primary key (org_id, project_id, place))`,

  // What refresh knows of the service, all of which follows from the entries and their readings (`refresh-state.ts`).
  `create table refresh_projects (
    org_id text not null,
    project_id text not null,
    cut_at double precision,
    rates text,
    arrivals_at double precision not null default 0,
    arrivals_long double precision not null default 0,
    arrivals_short double precision not null default 0,
    taught_at double precision not null default 0,
    page_size integer not null default 0,
    ignores_status integer not null default 0,
    oldest_first integer not null default 0,
    exact_dates integer not null default 0,
    reshaped integer not null default 0,
    first_pass text,
    not_before double precision not null default 0,
    answered_at text,
    head_read_at text,
    constraint refresh_projects_key primary key (org_id, project_id))`,

  // One row an organization.
  'create table refresh_paces (org_id text primary key, pace text not null)',

  `create table refresh_rates (
    org_id text not null,
    project_id text not null,
    kind integer not null,
    changes double precision not null,
    hours double precision not null,
    constraint refresh_rates_key primary key (org_id, project_id, kind))`,

  `create table refresh_pages (
    org_id text not null,
    project_id text not null,
    list text not null,
    date_from double precision not null,
    date_to double precision not null,
    cut_at double precision not null,
    entries integer not null,
    rate double precision not null,
    open_rate double precision not null,
    rate_seen double precision not null,
    rate_seen_squared double precision not null,
    left_entries integer not null,
    left_since double precision not null,
    requests double precision not null,
    read_at double precision,
    again double precision,
    again_from double precision,
    not_before double precision not null default 0,
    pass_id text,
    constraint refresh_pages_key primary key (org_id, project_id, list, date_from))`,
  'create index refresh_pages_by_pass on refresh_pages (pass_id) where pass_id is not null',

  // Entries whose status was seen to change, or that are known to have left the open list.
  `create table refresh_entries (
    project_id text not null,
    id text not null,
    changed_at double precision,
    left_at double precision,
    constraint refresh_entries_key primary key (project_id, id),
    constraint refresh_entries_entry foreign key (project_id, id)
      references feedback (project_id, id) on delete cascade)`,

  `create table export_runs (
    workflow_id text not null,
    run_id text not null,
    org_id text not null,
    domain text not null,
    started_at text not null,
    finished_at text not null,
    outcome text not null,
    job_id text,
    jobs_started integer not null,
    version text,
    content_digest text,
    polls integer not null,
    detail text not null,
    job_ms bigint,
    constraint export_runs_key primary key (workflow_id, run_id))`,
  'create index export_runs_by_domain on export_runs (org_id, domain, started_at)',

  'create table store_identity (only_row integer primary key, identity text not null)',
  // Identities of the stores that this one was restored or moved from (`StoreLineage`).
  `create table retired_identities (
    place integer primary key,
    identity text not null,
    retired_at text not null,
    reason text not null)`,
  'create table store_key (only_row integer primary key, key text not null)',

  `create table erasures (
    erasure_id text primary key,
    contact text not null,
    project_id text,
    erased_at text not null,
    entries integer not null,
    changes integer not null,
    rejects integer not null)`,
  'create index erasures_by_contact on erasures (contact)',

  // What people did by hand.
  `create table audit (
    entry_id text primary key,
    at text not null,
    action text not null,
    who text not null,
    detail text not null,
    org_id text,
    subject text,
    reason text,
    workflow_id text)`,
  'create index audit_by_time on audit (at, entry_id)',

  // Notices sent to people.
  `create table notices (
    org_id text not null,
    type text not null,
    subject text not null,
    open integer not null,
    since text not null,
    until text,
    mark text,
    reason text,
    facts text not null,
    changed_at text not null,
    told integer not null,
    told_at text,
    constraint notices_key primary key (org_id, type, subject))`,

  `create table feedback_positions (
    project_id text not null,
    id text not null,
    change bigint not null,
    constraint feedback_positions_key primary key (project_id, id),
    constraint feedback_positions_entry foreign key (project_id, id)
      references feedback (project_id, id) on delete cascade)`,
  'create index feedback_positions_in_order on feedback_positions (project_id, change)',

  `create table webhook_positions (
    org_id text not null,
    webhook text not null,
    about text not null,
    position bigint not null,
    constraint webhook_positions_key primary key (org_id, webhook, about))`,
];

/**
 * The index of feedback search (feedback-search.md): `search_entries` has the words of an entry under its place in the
 * order of answers; `search_progress` says how many of the stored entries have been added, which is all of them unless
 * the store was moved here. Both come from `feedback` and can be rebuilt.
 */
const searchTables = (place: 'integer' | 'bigint', words: 'text' | 'tsvector') => [
  `create table search_entries (
    place ${place} primary key,
    project_id text not null,
    id text not null,
    first_seen_ms bigint not null,
    words ${words} not null,
    constraint search_entries_entry foreign key (project_id, id)
      references feedback (project_id, id) on delete cascade)`,
  'create unique index search_entries_by_entry on search_entries (project_id, id)',
  // Finds entries newer than a moment without reading every hit.
  'create index search_entries_by_first_sight on search_entries (first_seen_ms)',

  `create table search_progress (
    only_row integer primary key,
    project_id text not null,
    id text not null,
    passed integer not null,
    entries integer not null,
    complete integer not null,
    cleaned_at text)`,
  "insert into search_progress values (1, '', '', 0, 0, 1, null)",
];

/**
 * The tokenizer splits at blanks alone: the words are ready. `secure-delete` takes removed words out of the index itself
 * instead of noting them as removed.
 */
const searchOnSqlite = [
  ...searchTables('integer', 'text'),
  `create virtual table search_words using fts5(
    words, content='search_entries', content_rowid='place', columnsize=0, tokenize="ascii tokenchars '=~'")`,
  `insert into search_words (search_words, rank) values ('secure-delete', 1)`,
  `create trigger search_entries_added after insert on search_entries begin
    insert into search_words (rowid, words) values (new.place, new.words);
  end`,
  `create trigger search_entries_removed after delete on search_entries begin
    insert into search_words (search_words, rowid, words) values ('delete', old.place, old.words);
  end`,
];

const searchOnPostgres = [
  ...searchTables('bigint', 'tsvector'),
  'create index search_entries_by_word on search_entries using gin (words)',
];

/** Where the query builder's migrator records the migrations it has applied. */
export const migrationTable = 'kysely_migration';

/** In the order of their names. A migration that was released is never changed again. */
const migrations: Readonly<Record<string, Migration>> = { '0001-tables': tables };

/** The state of a database before it is migrated. `behind`: it has our tables and lacks a migration of this version. */
export type SchemaState = 'empty' | 'behind' | 'current' | 'newer' | 'foreign';

/**
 * Distinguishes our own database from one made by a later version of docferry or by another program, by the names of the
 * tables in it. Writes nothing.
 */
export async function schemaState(db: Kysely<FeedbackDatabase>, tables: ReadonlySet<string>): Promise<SchemaState> {
  if (tables.size === 0) return 'empty';
  if (!tables.has(migrationTable)) return 'foreign';
  const applied = await appliedMigrations(db);
  if (applied.length === 0) return 'empty';
  if (applied.some(isUnknown)) return tables.has('store_identity') ? 'newer' : 'foreign';
  return applied.length === Object.keys(migrations).length ? 'current' : 'behind';
}

/**
 * Throws when a later version of docferry has migrated the tables since this process opened them: this version would leave
 * out what that version stores with each entry.
 */
export async function refuseNewer(db: Kysely<FeedbackDatabase>, place: string): Promise<void> {
  if ((await appliedMigrations(db)).some(isUnknown)) throw newerTables(place);
}

function isUnknown(name: string): boolean {
  return migrations[name] === undefined;
}

export function newerTables(place: string): FeedbackStoreUnavailable {
  return new FeedbackStoreUnavailable(
    place,
    'a newer docferry has changed its tables',
    'Run that version or a later one, or restore a backup made before the upgrade.',
  );
}

async function appliedMigrations(db: Kysely<FeedbackDatabase>): Promise<string[]> {
  const records = db.withTables<{ [migrationTable]: { name: string } }>();
  const applied = await records.selectFrom(migrationTable).select('name').execute();
  return applied.map(({ name }) => name);
}

/**
 * Brings the tables up to date, in one transaction. Safe to repeat and to run in several processes at once. `schema` is
 * where the tables are, on databases that have several.
 */
export async function migrate(db: Kysely<FeedbackDatabase>, schema?: string): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}
