import { compare, inputOf, type Outcome } from './compare.ts';

/** More resident memory than this, for archives of some kilobytes, is a finding. */
const mostRssBytes = 768 * 1024 ** 2;
const memoryEvery = 250;

export interface Finding {
  index: number;
  text: string;
}

/** What a run of mutated archives came to. */
export interface FuzzSummary {
  inputs: number;
  /** By format. */
  accepted: Record<string, number>;
  /** By rule. */
  refused: Record<string, number>;
  /** Accepted by the reader, refused by the library; by what the library said. */
  stricterLibrary: Record<string, number>;
  findings: Finding[];
  peakRssBytes: number;
}

export interface FuzzRun {
  seed: number;
  from: number;
  to: number;
  /** Called before each input, so that a watcher knows which one hangs. */
  onInput?: (index: number) => void;
}

/** Reads the inputs `from` up to `to` of the run with this seed, and compares each with what a library finds. */
export async function fuzz({ seed, from, to, onInput }: FuzzRun): Promise<FuzzSummary> {
  const summary = emptySummary();
  for (let index = from; index < to; index += 1) {
    onInput?.(index);
    note(summary, index, await compare(inputOf(seed, index)));
    if (index % memoryEvery === 0) watchMemory(summary, index);
  }
  return summary;
}

export function emptySummary(): FuzzSummary {
  return { inputs: 0, accepted: {}, refused: {}, stricterLibrary: {}, findings: [], peakRssBytes: 0 };
}

/** Adds what one part of a run came to. */
export function addSummary(sum: FuzzSummary, part: FuzzSummary): void {
  sum.inputs += part.inputs;
  for (const name of ['accepted', 'refused', 'stricterLibrary'] as const) {
    for (const [key, count] of Object.entries(part[name])) sum[name][key] = (sum[name][key] ?? 0) + count;
  }
  sum.findings.push(...part.findings);
  sum.peakRssBytes = Math.max(sum.peakRssBytes, part.peakRssBytes);
}

function note(
  summary: FuzzSummary,
  index: number,
  { format, accepted, rule, stricterLibrary, finding }: Outcome,
): void {
  summary.inputs += 1;
  if (accepted) count(summary.accepted, format ?? 'none');
  else count(summary.refused, rule ?? 'none');
  if (stricterLibrary) count(summary.stricterLibrary, `${format}: ${rule}`);
  if (finding !== null) summary.findings.push({ index, text: finding });
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

function watchMemory(summary: FuzzSummary, index: number): void {
  const { rss } = process.memoryUsage();
  summary.peakRssBytes = Math.max(summary.peakRssBytes, rss);
  if (rss > mostRssBytes) summary.findings.push({ index, text: `${rss} bytes of memory in use` });
}
