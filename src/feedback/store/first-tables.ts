import type { Migration } from 'kysely';
import { makeTables } from './make-tables.ts';

/**
 * The tables of contracts.md, in the types that SQLite and PostgreSQL share: `text`, `integer`, and `bigint` for
 * milliseconds.
 */
export const firstTables: Migration = { up: (db) => makeTables(db, statements) };

const statements = [
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
];
