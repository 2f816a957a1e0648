import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { inputOf } from './compare.ts';
import { addSummary, emptySummary, type Finding, type FuzzRun, type FuzzSummary, fuzz } from './run.ts';

/*
 * Mutated archives against the libraries: node dist/test/tools/fuzz/fuzz-readers.js --count 1000000 --seed 1 [--keep DIR]
 * Each input is made from its number and the seed alone, so that a finding can be looked at again:
 * --from N --count 1 --keep DIR writes it to a file.
 */

/** Inputs are read within milliseconds: one that takes so long hangs. */
const hangMs = 30_000;
const chunk = 5_000;
const heapMb = 512;

type Message = { index: number } | { summary: FuzzSummary };

if (isMainThread) process.exitCode = await main();
else await work(workerData);

async function work(run: FuzzRun): Promise<void> {
  const onInput = (index: number) => {
    if (index % 100 === 0) parentPort?.postMessage({ index } satisfies Message);
  };
  parentPort?.postMessage({ summary: await fuzz({ ...run, onInput }) } satisfies Message);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '0' },
      keep: { type: 'string' },
    },
  });
  const [count, seed, from] = [values.count, values.seed, values.from].map(Number);
  if (!Number.isSafeInteger(count) || !Number.isSafeInteger(seed) || !Number.isSafeInteger(from)) {
    process.stderr.write('--count, --seed and --from are whole numbers\n');
    return 2;
  }
  const sum = emptySummary();
  const begun = performance.now();
  const end = (from ?? 0) + (count ?? 0);
  for (let next = from ?? 0; next < end; next += chunk) {
    addSummary(sum, await inThread({ seed: seed ?? 1, from: next, to: Math.min(end, next + chunk) }));
    process.stderr.write(`\r${sum.inputs} inputs, ${sum.findings.length} findings`);
  }
  process.stderr.write('\n');
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  process.stdout.write(`${JSON.stringify({ seed, from, seconds, ...sum }, null, 2)}\n`);
  if (values.keep) await keep(values.keep, seed ?? 1, count === 1 ? [{ index: from ?? 0, text: '' }] : sum.findings);
  return sum.findings.length === 0 ? 0 : 1;
}

/** A thread for each chunk: one that hangs or dies is a finding, and the run goes on behind it. */
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
