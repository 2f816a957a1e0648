import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely';
import { DatabaseError, Pool, type PoolClient } from 'pg';
import type { FeedbackStoreConfig } from '../../config/config.ts';
import { keepEverything, type Privacy } from '../privacy/privacy.ts';
import { rebuildSearchIndex } from '../search/build-index.ts';
import type { OpenAudit } from './audit-records.ts';
import { auditIn, type FeedbackStore, sqlFeedbackStore } from './feedback-store.ts';
import { FeedbackStoreUnavailable, withoutAudit } from './feedback-store-unavailable.ts';
import { migrate, migrationTable, newerTables, type SchemaState, schemaState } from './migrations.ts';
import { vacuum } from './queries.ts';
import { type Db, isOurTable } from './tables.ts';

type PostgresConfig = FeedbackStoreConfig & { kind: 'postgres' };

/** Where a PostgreSQL database is and how to be let in. `place` is for messages: it never has the password. */
export interface PostgresPlace extends Omit<PostgresConfig, 'kind' | 'password'> {
  /** Null for servers that ask for none. */
  password: { read(): string } | null;
}

type Words = readonly [problem: string, fix: string];

const start = 'Start the server, or correct host and port in store.feedback; the work continues when it answers.';
const soon = 'Wait until it answers again: what was committed is kept, and the work continues from there.';
const trust = 'Name the authority that signed it with sslrootcert=FILE in store.feedback, or by NODE_EXTRA_CA_CERTS.';

/** By SQLSTATE, or by the code of the system or of TLS. The longest beginning that fits counts. */
const byCode: Readonly<Record<string, (place: PostgresPlace) => Words>> = {
  ECONNREFUSED: () => ['nothing listens there', start],
  ENOENT: () => [
    'there is no socket or certificate of that name',
    'Correct host or the certificates in store.feedback.',
  ],
  EACCES: () => ['its socket or a certificate cannot be read', 'Give the user that runs docferry access to it.'],
  ENOTFOUND: () => ['the name of its host is not known', 'Correct the host in store.feedback.'],
  EAI_AGAIN: () => ['the name of its host cannot be looked up now', 'Check the name service, or the host.'],
  EHOSTUNREACH: () => ['there is no way to its host', start],
  ENETUNREACH: () => ['there is no way to its host', start],
  ETIMEDOUT: () => ['its host does not answer', start],
  ECONNRESET: () => ['the connection was cut', soon],
  EPIPE: () => ['the connection was cut', soon],
  '08': () => ['the connection was cut', soon],
  '57P01': () => ['the server is being stopped', soon],
  '57P02': () => ['the server is restarting after a crash', soon],
  '57P03': () => ['the server is starting or stopping', soon],
  '57P05': () => ['the server closed an idle connection', soon],
  '28P01': ({ user, password }) =>
    password === null
      ? [
          `it wants a password of ${user}`,
          `Write \${NAME} of an environment variable into store.feedback: ${user}:\${NAME}@…`,
        ]
      : [`the password of ${user} is wrong`, 'Correct the password that store.feedback refers to.'],
  '28': ({ user, database }) => [
    `${user} is not let in`,
    `Make the role and let it in to ${database} in pg_hba.conf, or correct user and sslmode in store.feedback.`,
  ],
  '3D000': ({ user, database }) => [
    `there is no database ${database}`,
    `Make it: CREATE DATABASE "${database}" OWNER "${user}" ENCODING 'UTF8' TEMPLATE template0.`,
  ],
  '3F000': () => ['there is no schema to make tables in', 'Make the schema that search_path names.'],
  '42501': ({ user, database }) => [
    `${user} lacks a permission`,
    `Let it own what it needs: ALTER DATABASE "${database}" OWNER TO "${user}", and the tables if they are another's.`,
  ],
  '25006': () => ['it takes no writes: a copy, or set to read only', 'Name the primary server in store.feedback.'],
  '53100': () => ['the disk of the server is full', 'Free some space: nothing half-written was kept.'],
  '53300': () => ['it has no connection left', 'Raise max_connections, or run fewer workers: each uses at most 5.'],
  '53': () => [
    'the server lacks memory or another resource',
    'Look at its log; the work continues when there is room.',
  ],
  '40': () => ['another transaction was in the way', 'Nothing: it is tried again.'],
  '55P03': () => ['a lock was not to be had', 'End the transaction that a person or a program left open.'],
  '57014': () => ['a statement was cancelled', 'Look at statement_timeout of the role and at who cancels.'],
  XX001: () => ['its data is damaged', 'Restore a backup, or name an empty database and run a sweep.'],
  XX002: () => ['an index of it is damaged', 'Rebuild it with REINDEX.'],
  CERT_HAS_EXPIRED: () => ['its certificate has expired', 'Renew the certificate of the server.'],
  ERR_TLS_CERT_ALTNAME_INVALID: () => [
    'its certificate is for another host',
    'Name the host that the certificate names, or write sslmode=verify-ca into store.feedback.',
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: () => ['its certificate is signed by an unknown authority', trust],
  SELF_SIGNED_CERT_IN_CHAIN: () => ['its certificate is signed by an unknown authority', trust],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: () => ['its certificate is signed by an unknown authority', trust],
  UNABLE_TO_GET_ISSUER_CERT: () => ['its certificate is signed by an unknown authority', trust],
};

/** What the library says without a code, because the server did not answer. */
const byMessage: readonly (readonly [RegExp, (place: PostgresPlace) => Words])[] = [
  [
    /does not support SSL/,
    () => [
      'it does not offer TLS',
      'Turn ssl on there, or write sslmode=disable into store.feedback where the way is safe.',
    ],
  ],
  [/timeout/i, () => ['there was no answer in time', start]],
  [/terminated|connection error|was closed|not queryable/i, () => ['the connection was cut', soon]],
];

/**
 * An error of PostgreSQL or of the connection to it in words for a person. If the server refuses for another reason,
 * the error has only the code and the names of table and constraint: the server's own words may quote what was to be
 * stored. Neither carries the original error. Errors of other kinds are returned unchanged.
 */
function explainPostgresProblem(place: PostgresPlace, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  const words = wordsOf(code, error.message)?.(place);
  if (words !== undefined) {
    const [problem, fix] = words;
    return new FeedbackStoreUnavailable(place.place, code === '' ? problem : `${problem} (${code})`, fix);
  }
  if (!(error instanceof DatabaseError)) return error;
  const { table, column, constraint } = error;
  const where = Object.entries({ table, column, constraint }).filter(([, name]) => name !== undefined);
  const what = [code, ...where.map((pair) => pair.join(' '))].join(', ');
  return new Error(`PostgreSQL at ${place.place} refused a statement (${what})`);
}

/** Whether this error ends the connection: one with an open transaction must not return to the pool. */
function isConnectionLost(error: unknown): boolean {
  return !(error instanceof DatabaseError) || error.severity === 'FATAL' || error.severity === 'PANIC';
}

function wordsOf(code: string, message: string): ((place: PostgresPlace) => Words) | undefined {
  for (let length = code.length; length >= 2; length -= 1) {
    const found = Object.hasOwn(byCode, code.slice(0, length)) ? byCode[code.slice(0, length)] : undefined;
    if (found !== undefined) return found;
  }
  return code === '' ? byMessage.find(([pattern]) => pattern.test(message))?.[1] : undefined;
}

/** The settings of TLS for a place; false for none. */
async function tlsOf(place: PostgresPlace): Promise<ConnectionOptions | false> {
  const { host, tls } = place;
  if (tls.mode === 'disable') return false;
  const read = async (path: string | null) => (path === null ? undefined : await readFile(path, 'utf8'));
  const files = Promise.all([tls.rootCert, tls.cert, tls.key].map(read));
  const [ca, cert, key] = await files.catch((error: unknown) => {
    throw explainPostgresProblem(place, error);
  });
  return {
    // Without a name, Node would compare an IP address with the certificate of "localhost".
    host,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tls.mode === 'require' ? { rejectUnauthorized: false } : {}),
    ...(tls.mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
  };
}

interface PoolLimits {
  connections: number;
  /** Of a statement, in milliseconds: a host that vanished leaves a connection open, and nothing else would notice. */
  answerWithinMs: number;
  /** Whether `end` waits for the statements that run. */
  endsWhenDone: boolean;
}

/** A worker commits a page in milliseconds: more connections would only wait for each other. */
export const usualLimits: PoolLimits = { connections: 4, answerWithinMs: 120_000, endsWhenDone: true };

/** To connect, or to get one of the connections while all are in use. */
const connectWithinMs = 15_000;
/** Until the system looks whether the other side of a silent connection is still there. */
const keepAliveAfterMs = 10_000;

/**
 * A small pool of connections to a place. A connection that breaks is thrown away, the next caller gets a new one: a
 * restart of the server costs the work in flight. Errors come in words (`explainPostgresProblem`).
 */
async function openPostgresPool(place: PostgresPlace, limits = usualLimits): Promise<PostgresPool> {
  const { host, port, database, user, password, options } = place;
  const pool = new Pool({
    host,
    port,
    database,
    user,
    // Called only if the server asks. Refusing to answer would leave the connection open and half made.
    password: password === null ? () => 'none' : password.read(),
    ssl: await tlsOf(place),
    ...(options === null ? {} : { options }),
    application_name: 'docferry',
    max: limits.connections,
    connectionTimeoutMillis: connectWithinMs,
    query_timeout: limits.answerWithinMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  // Without listeners the loss of an idle connection would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const open = new Set<PoolClient>();
  pool.on('connect', (client) => open.add(client));
  pool.on('remove', (client) => open.delete(client));
  return {
    connect: async () => {
      try {
        return explainingClient(await pool.connect(), place);
      } catch (error) {
        throw explainPostgresProblem(place, error);
      }
    },
    async end() {
      if (!limits.endsWhenDone) await Promise.all([...open].map((client) => client.end()));
      await pool.end();
    },
  };
}

/** A connection from the pool, which does not take it back once it is broken. */
function explainingClient(client: PoolClient, place: PostgresPlace): PostgresPoolClient {
  let lost: { error: unknown } | null = null;
  const run = async (statement: string, parameters: readonly unknown[]) => {
    // The rollback after the loss must neither wait nor hide its cause.
    if (lost !== null) throw lost.error;
    try {
      return await client.query(statement, [...parameters]);
    } catch (error) {
      const explained = explainPostgresProblem(place, error);
      if (isConnectionLost(error)) lost = { error: explained };
      throw explained;
    }
  };
  // The other overload is for cursors, which are not used here.
  const query = run as unknown as PostgresPoolClient['query'];
  return { query, release: () => client.release(lost !== null) };
}

/** A database before anything is written to it. */
interface Examined {
  state: SchemaState;
  /** Where tables are, or would be, made. */
  schema: string;
  /** `15.18`, as the server says it. */
  version: string;
  mayCreate: boolean;
}

/**
 * Opens the feedback store in a PostgreSQL database for any number of processes, making missing tables. Throws
 * `FeedbackStoreUnavailable`, as its methods do until the server can be reached again.
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

/** Opens the audit of an existing store, and changes no table. Throws as `openPostgresFeedbackStore` does. */
export async function openPostgresAudit(place: PostgresPlace): Promise<OpenAudit> {
  return await withDatabase(place, async (db) => {
    if ((await examine(place, db)).state === 'empty') throw withoutAudit(place.place);
    return auditIn(db);
  });
}

/** Scrubbing scans the whole store and waits for every reader: with its own connection, no page waits for it. */
const scrubLimits: PoolLimits = { connections: 1, answerWithinMs: 6 * 3_600_000, endsWhenDone: false };

/**
 * Removes old versions of rows, whose bytes may stay in a page until the space is used again (privacy.md), the values that
 * the planner's statistics took from them, and their words from the index of the search.
 */
async function scrub(db: Db, how: 'now' | 'daily'): Promise<boolean> {
  try {
    await sql.raw(vacuum).execute(db);
    await rebuildSearchIndex(db, how);
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
export async function withPostgresDatabase<T>(place: PostgresPlace, work: (db: Db) => Promise<T>): Promise<T> {
  return await withDatabase(place, async (db) => {
    const { state, schema } = await examine(place, db);
    if (state !== 'current') await migrate(db, schema);
    const result = await work(db);
    await db.destroy();
    return result;
  });
}

/** The connections are closed when the work fails. */
async function withDatabase<T>(place: PostgresPlace, work: (db: Db) => Promise<T>, limits = usualLimits): Promise<T> {
  const db = await databaseAt(place, limits);
  try {
    return await work(db);
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** Connects with the first statement. */
async function databaseAt(place: PostgresPlace, limits: PoolLimits): Promise<Db> {
  return new Kysely({ dialect: new PostgresDialect({ pool: await openPostgresPool(place, limits) }) });
}

async function examine(place: PostgresPlace, db: Db): Promise<Examined> {
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
  const state = await schemaState(db, await tablesIn(db, schema));
  if (state === 'newer') throw newerTables(place.place);
  if (state === 'foreign') {
    refuse(
      `its schema ${schema} holds another program's tables of the same names`,
      'Name a database of its own for docferry in store.feedback, or a schema by ?options=-csearch_path%3DNAME.',
    );
  }
  return { state, schema, version, mayCreate: mayCreate === true };
}

/** Which of our table names exist in the schema. Tables of other names are left alone. */
async function tablesIn(db: Db, schema: string): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p', 'v', 'm', 'f')`.execute(db);
  return new Set(rows.map(({ name }) => name).filter((name) => name === migrationTable || isOurTable(name)));
}
