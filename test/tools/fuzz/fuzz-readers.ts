import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { allPairs, inputOf } from './input-of.ts';
import { startOracles } from './oracles/installed-oracles.ts';
import { addSummary, emptySummary, type Finding, type FuzzRun, type FuzzSummary, fuzz } from './run.ts';

/*
 * Generated archives, read by the verifier and by every reader of archives on this machine:
 *   npm run test:fuzz -- --count 1000000 --seed 1 [--threads N] [--keep DIR]
 * Interrupted once, it finishes the parts that it has begun and prints the result of those.
 * Each input is made from its number and the seed alone, so that a finding can be looked at again:
 * `--from N --count 1 --keep DIR` writes it to a file.
 */

/** Inputs are read within milliseconds: a hundred of them take longer than this only on a hang. A busy machine takes minutes. */
const hangMs = 15 * 60_000;
const chunk = 10_000;
const heapMb = 512;

type Message = { index: number } | { summary: FuzzSummary };

if (isMainThread) process.exitCode = await main();
else await work(workerData);

async function work(run: FuzzRun): Promise<void> {
  const { installed } = await startOracles();
  const onInput = (index: number) => {
    if (index % 100 === 0) parentPort?.postMessage({ index } satisfies Message);
  };
  const summary = await fuzz({ ...run, onInput }, installed);
  for (const oracle of installed) oracle.close();
  parentPort?.postMessage({ summary } satisfies Message);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '0' },
      threads: { type: 'string', default: `${availableParallelism()}` },
      keep: { type: 'string' },
    },
  });
  const [count = 0, seed = 0, from = 0, threads = 0] = [values.count, values.seed, values.from, values.threads].map(
    Number,
  );
  if (![count, seed, from, threads].every(Number.isSafeInteger)) {
    process.stderr.write('--count, --seed, --from and --threads are whole numbers\n');
    return 2;
  }
  const oracles = await describeOracles();
  const begun = performance.now();
  const sum = emptySummary();
  let end = from + count;
  let next = from;
  process.once('SIGINT', () => {
    end = next;
  });
  const takeChunks = async () => {
    while (next < end) {
      const first = next;
      next += chunk;
      const part = await inThread({ seed, from: first, to: Math.min(from + count, first + chunk) });
      for (const { index, text } of part.findings) process.stderr.write(`\n${index}: ${text}\n`);
      addSummary(sum, part);
      const accepted = Object.values(sum.accepted).reduce((total, count) => total + count, 0);
      process.stderr.write(`\r${sum.inputs} inputs, ${accepted} accepted, ${sum.findings.length} findings`);
    }
  };
  await Promise.all(Array.from({ length: threads }, takeChunks));
  process.stderr.write('\n');
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  const { pairs, acceptedPairs, ...rest } = sum;
  const ofPairs = {
    known: allPairs().length,
    drawn: Object.keys(pairs).length,
    accepted: Object.keys(acceptedPairs).length,
    notDrawn: allPairs().filter((pair) => !(pair in pairs)),
  };
  process.stdout.write(`${JSON.stringify({ seed, from, seconds, ...oracles, pairs: ofPairs, ...rest }, null, 2)}\n`);
  if (values.keep) await keep(values.keep, seed, count === 1 ? [{ index: from, text: '' }] : sum.findings);
  return sum.findings.length === 0 ? 0 : 1;
}

/** The versions of the oracles, and which ones are missing; what has to be compiled is compiled here, once. */
async function describeOracles(): Promise<{ oracles: Record<string, string>; missing: readonly string[] }> {
  const { installed, missing } = await startOracles();
  for (const oracle of installed) oracle.close();
  return { oracles: Object.fromEntries(installed.map(({ name, version }) => [name, version])), missing };
}

/** Runs a chunk in its own thread: one that hangs or dies is a finding, and the run continues. */
function inThread(run: FuzzRun): Promise<FuzzSummary> {
  return new Promise((resolve) => {
    let last = run.from;
    const worker = new Worker(new URL(import.meta.url), {
      workerData: run,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    const end = (summary: FuzzSummary) => {
      clearTimeout(timer);
      void worker.terminate();
      resolve(summary);
    };
    const fail = (text: string) =>
      end({ ...emptySummary(), findings: [{ index: last, text: `${text}, up to 100 inputs on` }] });
    let timer = setTimeout(fail, hangMs, 'hangs');
    worker.on('message', (message: Message) => {
      if ('summary' in message) return end(message.summary);
      last = message.index;
      clearTimeout(timer);
      timer = setTimeout(fail, hangMs, 'hangs');
    });
    worker.on('error', (error) => fail(`the thread died: ${error.message}`));
  });
}

async function keep(folder: string, seed: number, findings: readonly Finding[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { index } of findings) await writeFile(join(folder, `${seed}-${index}.bin`), inputOf(seed, index));
}
