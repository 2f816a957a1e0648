import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Track } from '../tools/track.ts';
import { type ChangesFigures, measureChanges } from './changes-figures.ts';
import { type ExportMemory, measureExports } from './export-memory.ts';
import { sizesUpTo, syncBenchOptions } from './sync-options.ts';
import { syncReport } from './sync-table.ts';
import { measureWorkerMemory, type WorkerMemory } from './worker-memory.ts';

/*
 * What the sync sees and takes, and what the exports take: npm run bench:sync [-- --only changes,memory,exports]
 * [--entries most] [--out file]
 */

const args = process.argv.slice(2);
const { parts, mostEntries, out } = syncBenchOptions(args);
const stores = ['SQLite', 'PostgreSQL'] as const;
const changes: ChangesFigures[] = [];
const memory: WorkerMemory[] = [];
const exports: ExportMemory[] = [];

const opened: Parameters<Track>[0][] = [];
const track: Track = (server) => {
  opened.push(server);
};
const interrupted = async (): Promise<void> => {
  // While one is stopped, what waited for it may open the next.
  for (let stopped = -1; stopped < opened.length; ) {
    stopped = opened.length;
    await Promise.allSettled(opened.map(async (server) => (await server)?.stop()));
  }
  process.exit(130);
};
process.once('SIGINT', () => void interrupted());
process.once('SIGTERM', () => void interrupted());

if (parts.includes('memory')) await measureAllMemory();
if (parts.includes('exports')) await measureAllExports();
if (parts.includes('changes')) await measureAllChanges();
process.stdout.write(await save());

async function measureAllChanges(): Promise<void> {
  for (const entries of sizesUpTo(mostEntries, [25_000, 250_000])) {
    for (const openShare of [0.03, 0.6]) {
      say(`changes: ${entries} entries, ${openShare * 100} % open …`);
      changes.push(await measureChanges(entries, openShare, track));
      await save();
    }
  }
}

async function measureAllMemory(): Promise<void> {
  for (const store of stores) {
    for (const entries of sizesUpTo(mostEntries, [25_000, 100_000])) {
      say(`memory: ${entries} entries into ${store} …`);
      const measured = await measureWorkerMemory(store, entries, track);
      if (measured === null) say(`${store} is not installed`);
      else memory.push(measured);
      await save();
    }
  }
}

async function measureAllExports(): Promise<void> {
  for (const store of stores) {
    const measured = await measureExports(store, sizesUpTo(mostEntries, [10_000, 100_000, 1_000_000]), {
      say,
      track,
    });
    if (measured === null) say(`${store} is not installed`);
    else exports.push(measured);
    await save();
  }
}

/** Writes what is measured so far: a run takes long, and the last part may fail. */
async function save(): Promise<string> {
  const command = ['npm run bench:sync', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const report = syncReport({ command, date: new Date(), changes, memory, exports });
  await mkdir(dirname(out), { recursive: true });
  await writeFile(out, report);
  return report;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
