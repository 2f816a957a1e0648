import { setTimeout as sleep } from 'node:timers/promises';
import { Stage } from '../budget/budget-stage.ts';
import { startBenchPostgres } from '../tools/bench-postgres.ts';
import { memoryOf, resetPeak } from '../tools/process-memory.ts';
import type { Track } from '../tools/track.ts';

export interface WorkerMemory {
  store: string;
  entries: number;
  seconds: number;
  /** Bytes before the sweep, and at most during it. */
  idle: number;
  peak: number;
}

const project = 'prj_1';
/** After `worker: ready` nothing happens any more by then. */
const settleMs = 10_000;

/** bench/README.md "memory": what a worker process takes to sweep a project, over what it takes when it has nothing to do. */
export async function measureWorkerMemory(
  store: 'SQLite' | 'PostgreSQL',
  entries: number,
  track: Track,
): Promise<WorkerMemory | null> {
  const postgres = store === 'PostgreSQL' ? await startBenchPostgres(track) : null;
  if (store === 'PostgreSQL' && postgres === null) return null;
  try {
    const budget = { requests: 10_000, windowMs: 60_000, arrivalMs: 5_000 };
    const feedback = postgres === null ? {} : { feedback: postgres.url };
    const opening = Stage.open({ ...budget, entries, projects: [project], workers: 1, sandboxFlags: [], ...feedback });
    track(opening);
    const stage = await opening;
    try {
      return { store, entries, ...(await measure(stage, entries)) };
    } finally {
      await stage.stop();
    }
  } finally {
    await postgres?.stop();
  }
}

async function measure(stage: Stage, entries: number): Promise<Omit<WorkerMemory, 'store' | 'entries'>> {
  await stage.startWorkers();
  const pid = stage.workers[0]?.child.pid;
  if (pid === undefined) throw new Error('the worker has no process');
  await sleep(settleMs);
  await resetPeak(pid);
  const { now: idle } = await memoryOf(pid);
  const begun = performance.now();
  const result = await stage.resultOf(await stage.startPass(project, 'sweep'));
  const seconds = (performance.now() - begun) / 1_000;
  const { peak } = await memoryOf(pid);
  if (result.entries.inserted !== entries) throw new Error(`the sweep stored ${result.entries.inserted} entries`);
  return { seconds, idle, peak };
}
