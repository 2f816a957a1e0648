import type { ConnectionOptions } from 'node:tls';
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { Pool, type PoolClient } from 'pg';
import type { PostgresPlace } from './postgres-place.ts';
import { explainPostgresProblem, isConnectionLost } from './postgres-problem.ts';
import { postgresTls } from './postgres-tls.ts';

export interface PoolLimits {
  connections: number;
  /**
   * How long a statement may take, in milliseconds. A host that vanished leaves a connection open for good, and heartbeats
   * continue meanwhile, so nothing else would notice.
   */
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
export async function openPostgresPool(place: PostgresPlace, limits = usualLimits): Promise<PostgresPool> {
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
        return new ExplainingClient(await pool.connect(), place);
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

async function tlsOf(place: PostgresPlace): Promise<ConnectionOptions | false> {
  try {
    return await postgresTls(place);
  } catch (error) {
    throw explainPostgresProblem(place, error);
  }
}

/** A connection lent out, which is not taken back into the pool once it is broken. */
class ExplainingClient implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #place: PostgresPlace;
  #lost: { error: unknown } | null = null;

  constructor(client: PoolClient, place: PostgresPlace) {
    this.#client = client;
    this.#place = place;
  }

  query<R>(sql: string, parameters: ReadonlyArray<unknown>): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(sql: string | PostgresCursor<unknown>, parameters: ReadonlyArray<unknown> = []): unknown {
    if (typeof sql !== 'string') throw new Error('cursors are not used here');
    return this.#run(sql, parameters);
  }

  release(): void {
    this.#client.release(this.#lost !== null);
  }

  async #run(sql: string, parameters: ReadonlyArray<unknown>): Promise<unknown> {
    // After the loss comes a rollback, which must neither wait nor hide what happened.
    if (this.#lost !== null) throw this.#lost.error;
    try {
      return await this.#client.query(sql, [...parameters]);
    } catch (error) {
      const explained = explainPostgresProblem(this.#place, error);
      if (isConnectionLost(error)) this.#lost = { error: explained };
      throw explained;
    }
  }
}
