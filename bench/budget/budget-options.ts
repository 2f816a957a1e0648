import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/config/field-schemas.ts';

export interface BudgetBenchOptions {
  windowMs: number;
  /** Entries of all projects together. */
  entries: number;
  requests: number;
  arrivalMs: number;
  /** Names of the parts to run; null for all that are not long. */
  only: readonly string[] | null;
  long: boolean;
  /** Only the cost of many waiters (budget-waiters.ts). */
  waiters: boolean;
  out: string;
}

/** Bursts that the entries need, as 25,000 at 100 requests a window: three. */
const entriesARequest = 250;

/** Reads the command line of `bench:budget`. Throws an Error that names the flag and what is allowed. */
export function benchOptions(args: readonly string[]): BudgetBenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      window: { type: 'string', default: '60s' },
      entries: { type: 'string', default: '25000' },
      requests: { type: 'string' },
      arrival: { type: 'string' },
      only: { type: 'string' },
      long: { type: 'boolean', default: false },
      waiters: { type: 'boolean', default: false },
      out: { type: 'string' },
    },
  });
  const windowMs = duration('--window', values.window);
  const entries = whole('--entries', values.entries);
  const { requests, arrival, only, long, waiters } = values;
  return {
    windowMs,
    entries,
    requests:
      requests === undefined ? Math.max(10, Math.ceil(entries / entriesARequest)) : whole('--requests', requests),
    // The default D of 30 s, but no more than half of a short window.
    arrivalMs: arrival === undefined ? Math.min(30_000, windowMs / 2) : duration('--arrival', arrival),
    only: only === undefined ? null : only.split(','),
    long,
    waiters,
    out: values.out ?? `bench/results/${waiters ? 'budget-waiters' : 'budget'}.md`,
  };
}

function duration(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === null || ms <= 0) throw new Error(`${flag} held ${JSON.stringify(text)}: a duration like 60s is needed`);
  return ms;
}

function whole(flag: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new Error(`${flag} held ${JSON.stringify(text)}: a whole number above 0 is needed`);
  }
  return number;
}
