import { parseArgs } from 'node:util';

const syncParts = ['changes', 'memory', 'exports'] as const;
type SyncPart = (typeof syncParts)[number];

interface SyncBenchOptions {
  parts: readonly SyncPart[];
  /** No part takes more entries. */
  mostEntries: number;
  out: string;
}

/** Reads the command line of `bench:sync`. Throws an Error that names the flag and what is allowed. */
export function syncBenchOptions(args: readonly string[]): SyncBenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: syncParts.join(',') },
      entries: { type: 'string', default: '1000000' },
      out: { type: 'string', default: 'bench/results/sync.md' },
    },
  });
  const asked = values.only.split(',');
  const unknown = asked.filter((name) => !syncParts.some((part) => part === name));
  if (unknown.length > 0) throw new Error(`--only held ${unknown.join(', ')}: known are ${syncParts.join(', ')}`);
  const mostEntries = Number(values.entries);
  if (!Number.isSafeInteger(mostEntries) || mostEntries < 1) {
    throw new Error(`--entries held ${JSON.stringify(values.entries)}: a whole number above 0 is needed`);
  }
  return { parts: syncParts.filter((part) => asked.includes(part)), mostEntries, out: values.out };
}

/** Those sizes that are allowed, or the largest allowed one. */
export function sizesUpTo(most: number, sizes: readonly number[]): number[] {
  const allowed = sizes.filter((size) => size <= most);
  return allowed.length > 0 ? allowed : [most];
}
