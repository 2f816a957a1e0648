import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { VerificationReport } from '../../../src/exports/verify/verify-archive.ts';
import { compare, verify } from './compare.ts';
import { inputOf, kindsOfInput } from './input-of.ts';
import { outsideFile } from './odd-names.ts';
import type { Oracle } from './oracles/oracle.ts';

/** More resident memory than this, for archives of some kilobytes, is a finding. */
const mostRssBytes = 768 * 1024 ** 2;
const memoryEvery = 250;
/** Archives that oracles read at the same time. */
const mostPending = 24;
const mostFindings = 500;
const sharedMemory = '/dev/shm';

export interface Finding {
  index: number;
  text: string;
}

/** The result of a run, or of a part of one. */
export interface FuzzSummary {
  inputs: number;
  /** By format. */
  accepted: Record<string, number>;
  /** By rule. */
  refused: Record<string, number>;
  /** Accepted archives with each kind of oddity. */
  acceptedKinds: Record<string, number>;
  /** How many inputs combined each pair of kinds, and how many of these were accepted. */
  pairs: Record<string, number>;
  acceptedPairs: Record<string, number>;
  /** How many accepted archives each oracle read, by its name. */
  read: Record<string, number>;
  /** How many accepted archives an oracle stopped at with an error, where the verifier warns of that, by its name. */
  stopped: Record<string, number>;
  /** How many of those it saw differently. */
  disagreements: Record<string, number>;
  /** The first disagreements, and crashes, hangs, memory and stray files. */
  findings: Finding[];
  peakRssBytes: number;
}

const counted = [
  'accepted',
  'refused',
  'acceptedKinds',
  'pairs',
  'acceptedPairs',
  'read',
  'stopped',
  'disagreements',
] as const;

export interface FuzzRun {
  seed: number;
  from: number;
  to: number;
  /** Called before each input, so that a watcher knows which one hangs. */
  onInput?: (index: number) => void;
}

/** Verifies the inputs `from` up to `to` of the run with this seed; every accepted one is read by every oracle, too. */
export async function fuzz({ seed, from, to, onInput }: FuzzRun, oracles: readonly Oracle[]): Promise<FuzzSummary> {
  const summary = emptySummary();
  const scratch = mkdtempSync(join(existsSync(sharedMemory) ? sharedMemory : tmpdir(), 'docferry-fuzz-'));
  const pending = new Set<Promise<void>>();
  for (let index = from; index < to; index += 1) {
    onInput?.(index);
    const input = inputOf(seed, index);
    const report = await verifying(input, summary, index);
    const { kinds, pairs } = kindsOfInput(seed, index);
    for (const pair of pairs) count(summary.pairs, pair);
    if (report?.ok) {
      for (const kind of kinds) count(summary.acceptedKinds, kind);
      for (const pair of pairs) count(summary.acceptedPairs, pair);
    }
    if (report?.ok) {
      const comparing: Promise<void> = compareWith(
        oracles,
        input,
        report,
        join(scratch, `${index}`),
        summary,
        index,
      ).finally(() => pending.delete(comparing));
      pending.add(comparing);
      if (pending.size >= mostPending) await Promise.race(pending);
    }
    if (index % memoryEvery === 0) watchMemory(summary, index);
  }
  await Promise.all(pending);
  const strays = [...readdirSync(scratch), ...(existsSync(outsideFile) ? [outsideFile] : [])];
  if (strays.length > 0)
    find(summary, to, `a reader wrote outside of its folder, up to ${to - from} inputs before: ${strays}`);
  rmSync(scratch, { recursive: true });
  return summary;
}

export function emptySummary(): FuzzSummary {
  return {
    inputs: 0,
    accepted: {},
    refused: {},
    acceptedKinds: {},
    pairs: {},
    acceptedPairs: {},
    read: {},
    stopped: {},
    disagreements: {},
    findings: [],
    peakRssBytes: 0,
  };
}

/** Adds the result of a part of a run. */
export function addSummary(sum: FuzzSummary, part: FuzzSummary): void {
  sum.inputs += part.inputs;
  for (const name of counted) {
    for (const [key, count] of Object.entries(part[name])) sum[name][key] = (sum[name][key] ?? 0) + count;
  }
  for (const { index, text } of part.findings) find(sum, index, text);
  sum.peakRssBytes = Math.max(sum.peakRssBytes, part.peakRssBytes);
}

async function verifying(input: Buffer, summary: FuzzSummary, index: number): Promise<VerificationReport | null> {
  summary.inputs += 1;
  try {
    const report = await verify(input);
    if (report.ok) count(summary.accepted, report.format ?? 'none');
    else count(summary.refused, report.reasons[0]?.rule ?? 'none');
    return report;
  } catch (error) {
    find(summary, index, `thrown: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return null;
  }
}

async function compareWith(
  oracles: readonly Oracle[],
  input: Buffer,
  report: VerificationReport,
  scratch: string,
  summary: FuzzSummary,
  index: number,
): Promise<void> {
  const { read, stopped, disagreements } = await compare(input, report, oracles, scratch);
  for (const name of read) count(summary.read, name);
  for (const name of stopped) count(summary.stopped, name);
  for (const text of disagreements) {
    count(summary.disagreements, text.slice(0, text.indexOf(':')));
    find(summary, index, text);
  }
}

function find(summary: FuzzSummary, index: number, text: string): void {
  if (summary.findings.length < mostFindings) summary.findings.push({ index, text });
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

function watchMemory(summary: FuzzSummary, index: number): void {
  const { rss } = process.memoryUsage();
  summary.peakRssBytes = Math.max(summary.peakRssBytes, rss);
  if (rss > mostRssBytes) find(summary, index, `${rss} bytes of memory in use`);
}
