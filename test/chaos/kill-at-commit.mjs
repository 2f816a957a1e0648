import { DatabaseSync } from '@photostructure/sqlite';

/**
 * Loaded into a process by `node --import`: counts its transactions in SQLite, and ends it by SIGKILL before or after
 * the commit with the number KILL_AT: odd ones before the commit (KILL_AT + 1) / 2, even ones after it.
 */
const killAt = Number(process.env.KILL_AT);
let step = 0;

function passed() {
  step += 1;
  if (step === killAt) process.kill(process.pid, 'SIGKILL');
}

const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (sql, ...more) {
  const statement = Reflect.apply(prepare, this, [sql, ...more]);
  if (sql !== 'commit') return statement;
  for (const name of ['run', 'all']) {
    const original = statement[name];
    statement[name] = (...args) => {
      passed();
      const result = Reflect.apply(original, statement, args);
      passed();
      return result;
    };
  }
  return statement;
};
