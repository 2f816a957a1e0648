import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { PostgresPlace } from '../../../src/feedback/store/postgres-place.ts';
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
  const password = `planted:${name}/@%`;
  await asSuperuser(server, 'postgres', async (client) => {
    await client.query(`create role ${name} login password '${password}'`);
    await client.query(`create database ${name} owner ${name} ${options}`);
  });
  const { host, port } = server;
  const url = `postgres://${name}:${encodeURIComponent(password)}@${host}:${port}/${name}`;
  return {
    name,
    user: name,
    password,
    url,
    place: {
      place: `postgres://${name}@${host}:${port}/${name}`,
      host,
      port,
      database: name,
      user: name,
      password: { read: () => password },
      tls: { mode: 'disable', rootCert: null, cert: null, key: null },
      options: null,
    },
    rows: (sql) => asSuperuser(server, name, async (client) => (await client.query(sql)).rows),
    run: (sql) => asSuperuser(server, name, async (client) => void (await client.query(sql))),
    [Symbol.asyncDispose]: () =>
      asSuperuser(server, 'postgres', async (client) => {
        await client.query(`drop database ${name} with (force)`);
        await client.query(`drop role ${name}`);
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
