import { writeSync } from 'node:fs';

/**
 * Loaded into a process by `node --import`: counts what it changes in the file system, and ends it by SIGKILL right
 * before the change with the number KILL_AT. Every function of node:fs, asynchronous or not, comes down to one of these
 * calls of its binding; opening counts where it can make or empty a file. A process that ends by itself says how many
 * changes it made.
 */
const changingCalls =
  'writeBuffer writeBuffers writeString writeFileUtf8 fsync fdatasync rename ftruncate rmdir mkdir link symlink unlink copyFile chmod fchmod fchown';
const openings = 'open openFileHandle';
const readOnly = 0;
const accessMode = 3;
const oCreat = 0o100;

const killAt = Number(process.env.KILL_AT);
const binding = process.binding('fs');
let changes = 0;

for (const name of changingCalls.split(' ')) before(name, () => true);
for (const name of openings.split(' ')) {
  before(name, (_path, flags) => (flags & accessMode) !== readOnly || (flags & oCreat) !== 0);
}
process.once('exit', () => {
  const made = changes;
  // What says so is no change.
  changes = Number.NEGATIVE_INFINITY;
  writeSync(2, `changes: ${made}\n`);
});

function before(name, counts) {
  const original = binding[name];
  binding[name] = function (...args) {
    if (counts(...args)) {
      changes += 1;
      if (changes === killAt) process.kill(process.pid, 'SIGKILL');
    }
    return Reflect.apply(original, this, args);
  };
}
