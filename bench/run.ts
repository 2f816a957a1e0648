import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/*
 * All figures of bench/README.md, one benchmark after the other, each with the command that made its table: npm run bench.
 * It takes an hour on two processors, which should have nothing else to do. Goes on after one that fails, and ends
 * with 1 then.
 */

const benchmarks = ['budget/budget', 'sync/sync', 'bundle/bundle', 'sync/report', 'status/status', 'console/console'];

const failed = benchmarks.filter((name) => {
  process.stderr.write(`\n${name}\n`);
  const program = fileURLToPath(new URL(`${name}.js`, import.meta.url));
  return spawnSync(process.execPath, [program], { stdio: 'inherit' }).status !== 0;
});
if (failed.length > 0) {
  process.stderr.write(`failed: ${failed.join(', ')}\n`);
  process.exitCode = 1;
}
