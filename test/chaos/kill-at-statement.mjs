import { PostgresDriver, SqliteDriver } from 'kysely';

/**
 * Loaded into a process by `node --import`: counts its statements in the store, and ends it by SIGKILL at the step with
 * the number KILL_AT. A step is the beginning of a statement or the end of a commit; with KILL_OF=commits the beginnings
 * of other statements do not count, so odd steps are right before a commit, even ones right after it.
 */
const killAt = Number(process.env.KILL_AT);
const isCounted = process.env.KILL_OF === 'commits' ? (sql) => sql === 'commit' : () => true;
const watched = new WeakSet();
let step = 0;

function passed() {
  step += 1;
  if (step === killAt) process.kill(process.pid, 'SIGKILL');
}

for (const { prototype } of [SqliteDriver, PostgresDriver]) {
  const { acquireConnection } = prototype;
  prototype.acquireConnection = async function (...args) {
    const connection = await Reflect.apply(acquireConnection, this, args);
    if (watched.has(connection)) return connection;
    watched.add(connection);
    const { executeQuery } = connection;
    connection.executeQuery = async (query, ...more) => {
      if (isCounted(query.sql)) passed();
      const result = await Reflect.apply(executeQuery, connection, [query, ...more]);
      if (query.sql === 'commit') passed();
      return result;
    };
    return connection;
  };
}
