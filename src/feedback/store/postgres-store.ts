import { Kysely, PostgresDialect, sql } from 'kysely';
import type { OpenAudit } from './deed-records.ts';
import type { PostgresPlace } from './postgres-place.ts';
import { openPostgresPool, type PoolLimits, usualLimits } from './postgres-pool.ts';
import { vacuum } from './scrub-statements.ts';
import { migrate, migrationTable, newerTables, type SchemaState, schemaState } from './migrations.ts';
import { isOurTable } from './our-tables.ts';
import type { FeedbackDatabase } from './tables.ts';
import type { FeedbackStore } from './feedback-store.ts';
import { FeedbackStoreUnavailable, withoutAudit } from './feedback-store-unavailable.ts';
import { keepEverything, type Privacy } from '../privacy/privacy.ts';
import { forgetWords } from '../search/forget-words.ts';
import { auditIn, sqlFeedbackStore } from './sql-feedback-store.ts';

/** What a database is found to be before anything is written to it. */
interface Examined {
  state: SchemaState;
  /** Where tables are, or would be, made. */
  schema: string;
  /** `15.18`, as the server says it. */
  version: string;
  /** Whether the role may make tables there. */
  mayCreate: boolean;
  /** Whether there is an audit, in tables of this version or an older one. */
  hasAudit: boolean;
}

/**
 * Opens the feedback store in a PostgreSQL database, making its tables where they are missing. Any number of processes
 * may have it open. Throws `FeedbackStoreUnavailable`, and so do the store's methods while the server cannot be reached;
 * the store works again once it can.
 */
export async function openPostgresFeedbackStore(
  place: PostgresPlace,
  privacy: Privacy = keepEverything,
  limits = usualLimits,
): Promise<FeedbackStore> {
  return await withDatabase(
    place,
    async (db) => {
      const examined = await examine(place, db);
      if (examined.state !== 'current') await migrate(db, examined.schema);
      const scrubbing = await databaseAt(place, scrubLimits);
      const store = await sqlFeedbackStore(db, {
        place: place.place,
        privacy,
        scrub: (how) => scrub(scrubbing, how),
      });
      return { ...store, close: () => Promise.all([scrubbing.destroy(), store.close()]).then(() => {}) };
    },
    limits,
  );
}

/** Opens the audit of a store that is there, and changes no table. Throws as `openPostgresFeedbackStore` does. */
export async function openPostgresAudit(place: PostgresPlace): Promise<OpenAudit> {
  return await withDatabase(place, async (db) => {
    if (!(await examine(place, db)).hasAudit) throw withoutAudit(place.place);
    return auditIn(db);
  });
}

/**
 * What takes removed bytes out reads all of a large store, and waits for all who read: one connection of its own for it, so
 * that it keeps no page waiting. A process that stops leaves it to the server.
 */
const scrubLimits: PoolLimits = { connections: 1, answerWithinMs: 6 * 3_600_000, endsWhenDone: false };

/**
 * Removes old versions of rows, whose bytes may stay in a page until the space is used again (privacy.md), the values that
 * the planner's statistics took from them, and their words from the index of the search.
 */
async function scrub(db: Kysely<FeedbackDatabase>, how: 'now' | 'daily'): Promise<boolean> {
  try {
    await sql.raw(vacuum).execute(db);
    await forgetWords(db, how);
    return true;
  } catch {
    // The role may lack the right: the server's own autovacuum will do it.
    return false;
  }
}

/** Examines a database and writes nothing. Throws as `openPostgresFeedbackStore` does. */
export async function examinePostgres(place: PostgresPlace): Promise<Examined> {
  return await withDatabase(place, async (db) => {
    const examined = await examine(place, db);
    await db.destroy();
    return examined;
  });
}

/** Works on a migrated database, past the store. Throws as `openPostgresFeedbackStore` does. */
export async function withPostgresDatabase<T>(
  place: PostgresPlace,
  work: (db: Kysely<FeedbackDatabase>) => Promise<T>,
): Promise<T> {
  return await withDatabase(place, async (db) => {
    const { state, schema } = await examine(place, db);
    if (state !== 'current') await migrate(db, schema);
    const result = await work(db);
    await db.destroy();
    return result;
  });
}

/** The connections are closed when the work fails. */
async function withDatabase<T>(
  place: PostgresPlace,
  work: (db: Kysely<FeedbackDatabase>) => Promise<T>,
  limits = usualLimits,
): Promise<T> {
  const db = await databaseAt(place, limits);
  try {
    return await work(db);
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** Connects when it is first asked. */
async function databaseAt(place: PostgresPlace, limits: PoolLimits): Promise<Kysely<FeedbackDatabase>> {
  return new Kysely({ dialect: new PostgresDialect({ pool: await openPostgresPool(place, limits) }) });
}

async function examine(place: PostgresPlace, db: Kysely<FeedbackDatabase>): Promise<Examined> {
  const refuse = (problem: string, fix: string): never => {
    throw new FeedbackStoreUnavailable(place.place, problem, fix);
  };
  const { rows } = await sql<{ schema: string | null; encoding: string; version: string; mayCreate: boolean | null }>`
    select current_schema() as schema,
           current_setting('server_encoding') as encoding,
           split_part(current_setting('server_version'), ' ', 1) as version,
           has_schema_privilege(current_schema(), 'CREATE') as "mayCreate"`.execute(db);
  const [{ schema, encoding, version, mayCreate } = { schema: null, encoding: '', version: '', mayCreate: null }] =
    rows;
  if (schema === null) return refuse('there is no schema to make tables in', 'Make the schema that search_path names.');
  if (encoding !== 'UTF8') {
    const { database, user } = place;
    const make = `CREATE DATABASE "${database}" OWNER "${user}" ENCODING 'UTF8' TEMPLATE template0`;
    return refuse(`its encoding is ${encoding}, which does not have every character`, `Make another: ${make}.`);
  }
  const tables = await tablesIn(db, schema);
  const state = await schemaState(db, tables);
  if (state === 'newer') throw newerTables(place.place);
  if (state === 'foreign') {
    refuse(
      `its schema ${schema} holds another program's tables of the same names`,
      'Name a database of its own for docferry in store.feedback, or a schema by ?options=-csearch_path%3DNAME.',
    );
  }
  return { state, schema, version, mayCreate: mayCreate === true, hasAudit: tables.has('audit') };
}

/** Which of our table names exist in the schema. Tables of other names are left alone. */
async function tablesIn(db: Kysely<FeedbackDatabase>, schema: string): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p', 'v', 'm', 'f')`.execute(db);
  return new Set(rows.map(({ name }) => name).filter((name) => name === migrationTable || isOurTable(name)));
}
