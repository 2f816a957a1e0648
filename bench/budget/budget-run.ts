import { setTimeout as sleep } from 'node:timers/promises';
import { burnBudget, type Kill, killWorkers, restartHalfWay } from './budget-disturbances.ts';
import { type Arrival, type Figures, figuresOf, isOwn } from './budget-figures.ts';
import { ledgerOf } from './budget-history.ts';
import type { Ledger } from './budget-ledger.ts';
import type { BudgetBenchOptions } from './budget-options.ts';
import type { Scenario } from './budget-scenarios.ts';
import { Stage } from './budget-stage.ts';

/** What one scenario came to. */
export interface Measured {
  scenario: Scenario;
  figures: Figures;
  pages: number;
  eventsAPage: number;
  lost: number;
  doubled: number;
  /** Slots of the budget that were held and never were a request. */
  forfeited: number;
  kills: KillFigures | null;
  serverAwayMs: number | null;
}

interface KillFigures {
  kills: number;
  atWork: number;
  pagesAgain: number;
  unreportedLeases: number;
  /** From each kill, or from the first free slot after it, to the next request. */
  stalledMs: number[];
}

const pageSize = 100;

/** Runs docferry through one scenario on a stage of its own; `track` is told of the stage, to end it on a signal. */
export async function runScenario(
  scenario: Scenario,
  options: BudgetBenchOptions,
  track: (stage: Promise<Stage>) => void,
): Promise<Measured> {
  const projects = Array.from({ length: scenario.projects }, (_, i) => `prj_${i + 1}`);
  const opening = openStage(scenario, options, projects);
  track(opening);
  const stage = await opening;
  try {
    await stage.startWorkers();
    return await measure(stage, scenario, projects);
  } finally {
    await stage.stop();
  }
}

/** Runs a peer's program through one scenario. */
export async function runPeer(
  peer: { program: string; args: readonly string[] },
  scenario: Scenario,
  options: BudgetBenchOptions,
  track: (stage: Promise<Stage>) => void,
): Promise<Figures> {
  const project = 'prj_1';
  const opening = openStage(scenario, options, [project]);
  track(opening);
  const stage = await opening;
  try {
    const said = await amongStrangers(stage, scenario, project, () => stage.runPeer(peer.program, peer.args, project));
    if (said.trim() !== `${options.entries} entries`) throw new Error(`${peer.program} read ${said.trim()}`);
    return figuresOf(await stage.sandbox.log(), settingOf(stage, scenario));
  } finally {
    await stage.stop();
  }
}

function openStage(scenario: Scenario, options: BudgetBenchOptions, projects: readonly string[]): Promise<Stage> {
  const { requests, windowMs, arrivalMs, entries } = options;
  const { workers, sandboxFlags } = scenario;
  const each = Math.ceil(entries / projects.length);
  return Stage.open({ requests, windowMs, arrivalMs, entries: each, projects, workers, sandboxFlags });
}

function pagesOf({ options: { entries, projects } }: Stage): number {
  return Math.ceil(entries / pageSize) * projects.length;
}

function settingOf(stage: Stage, { otherClients }: Scenario): Parameters<typeof figuresOf>[1] {
  const { requests, windowMs } = stage.options;
  return { requests, windowMs, pages: pagesOf(stage), otherClients: Math.round(requests * otherClients) };
}

async function measure(stage: Stage, scenario: Scenario, projects: readonly string[]): Promise<Measured> {
  const { requests: capacity, windowMs, arrivalMs } = stage.options;
  const pages = pagesOf(stage);
  const { ids, kills, serverAwayMs } = await amongStrangers(stage, scenario, projects[0] ?? '', async () => {
    const ids = await Promise.all(projects.map((project) => stage.startPass(project, 'sweep')));
    const over = new AbortController();
    const killing = scenario.disturbance === 'kills' ? killWorkers(stage, ids[0] ?? '', over.signal) : null;
    const restarting = scenario.disturbance === 'server-restart' ? restartHalfWay(stage, pages, over.signal) : null;
    // What fails in them is thrown where they are awaited.
    for (const disturbing of [killing, restarting]) disturbing?.catch(() => {});
    try {
      await Promise.all(ids.map((id) => stage.resultOf(id)));
    } finally {
      over.abort();
    }
    return { ids, kills: await killing, serverAwayMs: await restarting };
  });
  const log = await stage.sandbox.log();
  const own = log.filter(isOwn);
  const histories = await stage.historiesOf(stage.budgetId);
  const runs = [...histories, ...(await Promise.all(ids.map((id) => stage.historiesOf(id)))).flat()];
  const ledger = ledgerOf(histories, { capacity, windowMs, arrivalMs });
  const compared = await Promise.all(projects.map((project) => stage.lostAndDoubled(project)));
  return {
    scenario,
    figures: figuresOf(log, settingOf(stage, scenario)),
    pages,
    eventsAPage: sum(runs.map(({ events }) => events?.length ?? 0)) / pages,
    lost: sum(compared.map(({ lost }) => lost)),
    doubled: sum(compared.map(({ doubled }) => doubled)),
    forfeited: ledger.slots - own.length,
    kills: kills && killFigures(kills, own, pages, ledger),
    serverAwayMs,
  };
}

function killFigures(kills: readonly Kill[], own: readonly Arrival[], pages: number, ledger: Ledger): KillFigures {
  const stalledMs = kills.flatMap(({ at }) => {
    const next = own.find((arrival) => arrival.at >= at);
    return next ? [Math.max(0, next.at - Math.max(at, ledger.freeFrom(at)))] : [];
  });
  return {
    kills: kills.length,
    atWork: kills.filter(({ atWork }) => atWork).length,
    pagesAgain: own.filter(({ status }) => status === 200).length - pages,
    unreportedLeases: ledger.unreported,
    stalledMs,
  };
}

/** Does the work while others burn their share, which they have done for a window by then. */
async function amongStrangers<T>(
  stage: Stage,
  { otherClients }: Scenario,
  project: string,
  work: () => Promise<T>,
): Promise<T> {
  if (otherClients === 0) return work();
  const { requests, windowMs } = stage.options;
  const over = new AbortController();
  const burning = burnBudget(stage, project, windowMs / Math.round(requests * otherClients), over.signal);
  burning.catch(() => {});
  try {
    await Promise.race([sleep(windowMs), burning]);
    return await work();
  } finally {
    over.abort();
    await burning;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
