import { PostgresDriver, SqliteDriver } from 'kysely';

/**
 * Loaded into a process by `node --import`: counts its transactions in the store, and ends it by SIGKILL before or after
 * the commit with the number KILL_AT: odd ones before the commit (KILL_AT + 1) / 2, even ones after it.
 */
const killAt = Number(process.env.KILL_AT);
let step = 0;

function passed() {
  step += 1;
  if (step === killAt) process.kill(process.pid, 'SIGKILL');
}

for (const { prototype } of [SqliteDriver, PostgresDriver]) {
  const { commitTransaction } = prototype;
  prototype.commitTransaction = async function (...args) {
    passed();
    await Reflect.apply(commitTransaction, this, args);
    passed();
  };
}
