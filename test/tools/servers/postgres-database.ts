import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { PostgresPlace } from '../../../src/feedback/store/postgres-store.ts';
import { openPostgresFeedbackStore } from '../../../src/feedback/store/postgres-store.ts';
import type { PostgresServerAddress } from './postgres-server.ts';
import type { PostgresTestContext } from './postgres-setup.ts';

/** False where PostgreSQL is not installed: what needs it is skipped. */
export function hasPostgres(): boolean {
  return inject('postgres') !== null;
}

/** The server of this test run. */
export function usePostgres(): PostgresTestContext {
  const context = inject('postgres');
  if (context === null) throw new Error('PostgreSQL is not installed');
  return context;
}

export interface PostgresDatabase extends AsyncDisposable {
  name: string;
  /** The owner, whom the server asks for a password. */
  user: string;
  password: string;
  /** For the store. */
  place: PostgresPlace;
  /** For a configuration, with the password in it. */
  url: string;
  /** Reads the tables past the store, as another program would. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
  run(sql: string): Promise<void>;
}

/** An empty database of one's own, on the server of this test run or another one. `options` end `CREATE DATABASE`. */
export async function createDatabase(
  server: PostgresServerAddress = usePostgres().address,
  options = '',
): Promise<PostgresDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asSuperuser(server, 'postgres', async (client) => {
    await client.query(`create role ${name} login password '${passwordOf(name)}'`);
    await client.query(`create database ${name} owner ${name} ${options}`);
  });
  return databaseOf(server, name, name);
}

/** Whom the tables of `copyOfTemplate` belong to, and the database that has them. */
const template = 'test_template';

/** Makes the database that `copyOfTemplate` copies: with the tables of a feedback store, which nobody has opened yet. */
export async function makeTemplate(server: PostgresServerAddress): Promise<void> {
  await asSuperuser(server, 'postgres', async (client) => {
    await client.query(`create role ${template} login password '${passwordOf(template)}'`);
    await client.query(`create database ${template} owner ${template}`);
  });
  const { place, run } = databaseOf(server, template, template);
  await (await openPostgresFeedbackStore(place)).close();
  await run('delete from store_identity');
}

/** A database of one's own that has the tables of a feedback store: copying them is quicker than making them. */
export async function copyOfTemplate(): Promise<PostgresDatabase> {
  const server = usePostgres().address;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asSuperuser(server, 'postgres', async (client) => {
    await client.query(`create database ${name} owner ${template} template ${template}`);
  });
  return databaseOf(server, name, template);
}

const passwordOf = (user: string): string => `planted:${user}/@%`;

function databaseOf(server: PostgresServerAddress, name: string, user: string): PostgresDatabase {
  const { host, port } = server;
  const password = passwordOf(user);
  return {
    name,
    user,
    password,
    url: `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${name}`,
    place: {
      place: `postgres://${user}@${host}:${port}/${name}`,
      host,
      port,
      database: name,
      user,
      password: { read: () => password },
      tls: { mode: 'disable', rootCert: null, cert: null, key: null },
      options: null,
    },
    rows: (sql) => asSuperuser(server, name, async (client) => (await client.query(sql)).rows),
    run: (sql) => asSuperuser(server, name, async (client) => void (await client.query(sql))),
    [Symbol.asyncDispose]: () =>
      asSuperuser(server, 'postgres', async (client) => {
        await client.query(`drop database ${name} with (force)`);
        if (user === name) await client.query(`drop role ${name}`);
      }),
  };
}

async function asSuperuser<T>(
  { host, port, user, password }: PostgresServerAddress,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ host, port, user, password, database });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
