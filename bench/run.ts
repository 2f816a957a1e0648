import { pollingTable } from './polling.ts';

/** All benchmarks, one after the other; each prints its table with the command that made it. */
process.stdout.write(`${pollingTable()}\n`);
