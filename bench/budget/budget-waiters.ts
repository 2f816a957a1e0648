import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Worker } from '@temporalio/worker';
import { BudgetClient } from '../../src/budget/client.ts';
import { messagesPerRun, packed } from '../../src/budget/rules/carry-window.ts';
import { leaseMs } from '../../src/budget/rules/permits.ts';
import { reportLeaseSignal } from '../../src/contract.ts';
import { machineFacts } from '../tools/machine-facts.ts';
import { Stage } from './budget-stage.ts';
import {
  busyWindow,
  holderOf,
  type ModelCost,
  modelCost,
  questionOf,
  settingsOf,
  windowMs,
} from './budget-waiters-model.ts';

const sizes: [waiters: number, slots: number][] = [
  [10, 10],
  [10, 100],
  [100, 100],
  [300, 100],
  [1_000, 100],
  [10, 1_000],
  [1_000, 1_000],
];
const messages = 40;
/** As a quick failover has it. */
const taskTimeoutMs = 2_000;
const workflowBundle = { codePath: resolve('dist/workflow-bundle.js') };

interface WorkflowCost {
  /** Milliseconds for which a message is replayed. */
  replayMs: number;
  /** Milliseconds until a question is answered, nothing else being asked: the median. */
  answerMs: number;
}

/** `npm run bench:budget -- --waiters`: what a message costs a budget with many waiters, and how it survives its worker. */
export async function benchWaiters(out: string, track: (stage: Promise<Stage>) => void): Promise<string> {
  const model = sizes.map(([waiters, slots]) => modelCost(waiters, slots));
  const opened = Stage.open({
    requests: 1_000,
    windowMs,
    arrivalMs: 30_000,
    entries: 100,
    projects: ['prj_1'],
    workers: 1,
    sandboxFlags: [],
  });
  track(opened);
  const stage = await opened;
  try {
    await stage.startWorkers();
    const workflow: WorkflowCost[] = [];
    for (const [waiters, slots] of sizes) workflow.push(await workflowCost(stage, waiters, slots));
    const text = report(model, workflow, await longestReplay(stage), await recovery(stage));
    await mkdir(dirname(out), { recursive: true });
    await writeFile(out, text);
    return text;
  } finally {
    await stage.stop();
  }
}

/** Milliseconds for which a run that is about to continue as new is replayed, with a thousand waiters and slots. */
async function longestReplay(stage: Stage): Promise<{ messages: number; ms: number; taskMs: number }> {
  const state = busyWindow(1_000, 1_000, Date.now());
  const changes = messagesPerRun(state) - 10;
  const { org, handle, budget } = await startBudget(stage, 1_000, 1_000);
  const { firstExecutionRunId: runId } = handle;
  for (let i = 0; i < changes; i += 1) await budget.ask(org, questionOf(holderOf((i * 7) % 1_000)));
  if ((await handle.describe()).runId !== runId) throw new Error('the run was shorter than expected');
  const ms = await replayMs(handle);
  await handle.terminate();
  return { messages: changes, ms, taskMs: taskTimeoutMs };
}

/** Starts a budget with so many waiters and slots, on the stage's worker. */
async function startBudget(stage: Stage, waiters: number, slots: number) {
  const org = `w${waiters}-s${slots}-${Date.now()}`;
  const taskQueue = 'docferry';
  const handle = await stage.client.workflow.start('rateBudget', {
    workflowId: `budget:${org}`,
    taskQueue,
    workflowTaskTimeout: taskTimeoutMs,
    args: [{ org, settings: settingsOf(slots), carried: packed(busyWindow(waiters, slots, Date.now())) }],
  });
  const budget = new BudgetClient(stage.client, taskQueue, new Map([[org, settingsOf(slots)]]));
  return { org, handle, budget };
}

/** Replays a run with messages and one without, and divides the difference. */
async function workflowCost(stage: Stage, waiters: number, slots: number): Promise<WorkflowCost> {
  const { org, handle, budget } = await startBudget(stage, waiters, slots);
  await budget.configure(org);
  const without = await replayMs(handle);
  const answers: number[] = [];
  for (let i = 0; i < messages; i += 1) {
    const since = performance.now();
    await budget.ask(org, questionOf(holderOf((i * 7) % waiters)));
    answers.push(performance.now() - since);
    await handle.signal(reportLeaseSignal, { leaseId: `unknown-${i}`, arrived: [] });
  }
  const perMessage = ((await replayMs(handle)) - without) / (2 * messages);
  await handle.terminate();
  return { replayMs: perMessage, answerMs: median(answers) };
}

async function replayMs(handle: Awaited<ReturnType<typeof startBudget>>['handle']): Promise<number> {
  const history = await handle.fetchHistory();
  const times: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    const since = performance.now();
    await Worker.runReplayHistory({ workflowBundle }, history, handle.workflowId);
    times.push(performance.now() - since);
  }
  return median(times);
}

interface Recovery {
  waiters: number;
  /** Milliseconds from the kill until the new worker was ready, and until the first permit. */
  readyAfterMs: number;
  grantedAfterMs: number;
}

/** Kills the worker with -9, starts another, and asks for a permit. */
async function recovery(stage: Stage): Promise<Recovery> {
  const waiters = 1_000;
  const { org, handle, budget } = await startBudget(stage, waiters, 990);
  await budget.configure(org);
  for (let i = 0; i < 30; i += 1) await budget.ask(org, questionOf(holderOf(i)));
  const killed = performance.now();
  await stage.replaceWorker(0);
  const readyAfterMs = stage.workers[0]?.says('worker: ready').then(() => performance.now() - killed);
  // The message that must be answered after a replay makes room for a person, who goes first.
  await answered(() => budget.override(org, { requests: 1_000, forMs: null }));
  const person = 'sync:acme:person:on-demand';
  const answer = await answered(() => budget.ask(org, questionOf(person, { class: 'on-demand' })));
  if (answer.kind !== 'granted') throw new Error('the budget grants nothing any more');
  const grantedAfterMs = performance.now() - killed;
  await handle.terminate();
  return { waiters, readyAfterMs: (await readyAfterMs) ?? 0, grantedAfterMs };
}

/** A call repeated while no worker answers it. */
async function answered<T>(call: () => Promise<T>): Promise<T> {
  for (const since = performance.now(); ; ) {
    try {
      return await call();
    } catch (error) {
      if (performance.now() - since > 4 * leaseMs) throw error;
    }
  }
}

const median = (times: readonly number[]): number => [...times].sort((a, b) => a - b)[times.length >> 1] ?? 0;
const seconds = (value: number): string => (value / 1_000).toFixed(1);
const ms = (value: number): string => value.toFixed(value < 1 ? 3 : 1);

function report(
  model: readonly ModelCost[],
  workflow: readonly WorkflowCost[],
  longest: { messages: number; ms: number; taskMs: number },
  { waiters, readyAfterMs, grantedAfterMs }: Recovery,
) {
  const rows = model.map((cost, i) => {
    const { replayMs = 0, answerMs = 0 } = workflow[i] ?? {};
    const parts = [cost.ask, cost.report, cost.config, cost.wake, replayMs, answerMs].map(ms);
    return `| ${[cost.waiters, cost.slots, ...parts, `${Math.round(cost.bytes / 1024)} KiB`].join(' | ')} |`;
  });
  const [first, last] = [workflow[0], workflow.at(-1)];
  const ratio = (cost: keyof WorkflowCost) => (first && last ? (last[cost] / first[cost]).toFixed(1) : '?');
  return `# A budget with many waiters

Made by \`npm run bench:budget -- --waiters\` on ${new Date().toISOString().slice(0, 10)}: ${machineFacts()}.

Milliseconds a message: in the pure model with the look at the waiters that follows each message (median), replayed in the
workflow with decoding and details (questions and reports, a run with ${2 * messages} of them less one without), and
until a question is answered by a worker on the dev server (median). The state is what one run hands to the next.

| waiters | slots | ask | report | configure | limit + 1 | replayed | answered | state |
|---|---|---|---|---|---|---|---|---|
${rows.join('\n')}

With 1,000 waiters and 1,000 slots a message costs ${ratio('replayMs')} times what it costs with ten when it is replayed, and
${ratio('answerMs')} times until it is answered.

The longest run of a budget with 1,000 waiters and 1,000 slots, ${longest.messages} questions, is replayed in ${Math.round(longest.ms)} ms; a workflow task
may take ${longest.taskMs} ms.

A budget with ${waiters} waiters whose worker was killed with -9 granted again ${seconds(grantedAfterMs)} s after the kill; another worker, started
at once, was ready after ${seconds(readyAfterMs)} s.
`;
}
