import {
  freshestIntervals,
  longestEveryMs,
  meanStaleness,
  type Refreshed,
  roundedUp,
} from '../../src/budget/rules/budget-forecast.ts';
import { plannedShare, runCost, shortestProposedMs } from '../../src/budget/rules/plan-budget.ts';
import { equalIntervals } from './equal-intervals.ts';
import { type SimulatedStaleness, simulateStaleness } from './staleness-simulation.ts';

const hourMs = 3_600_000;
const days = 28;
const seed = 7;

/** New entries a day of the projects of an organization. */
const mixes: Readonly<Record<string, readonly number[]>> = {
  '8 alike, 20 a day': Array.from({ length: 8 }, () => 20),
  '1 of 500, 9 of 5 a day': [500, ...Array.from({ length: 9 }, () => 5)],
  '8 from 1 to 2,000 a day': [2_000, 500, 200, 50, 20, 10, 5, 1],
  '20 halving from 1,000 a day': Array.from({ length: 20 }, (_, n) => 1_000 / 2 ** (n / 2)),
  '50 falling as 1/n from 300': Array.from({ length: 50 }, (_, n) => 300 / (n + 1)),
};

interface Compared {
  /** Mean staleness by the model, in milliseconds. */
  modelMs: number;
  simulated: SimulatedStaleness;
}

/** Equal and freshest intervals of a minute or more, and those that are proposed, for 80 % of `limit` requests an hour. */
function compare(mix: readonly number[], limit: number): { equal: Compared; freshest: Compared; proposed: Compared } {
  const passes = (shortestMs: number) =>
    mix.map(
      (weight): Refreshed => ({
        cost: runCost('incremental', null, weight, 0).cost,
        weight,
        shortestMs,
        longestMs: longestEveryMs,
      }),
    );
  const budget = (plannedShare * limit) / hourMs;
  const played = (intervals: number[] | null): Compared => {
    if (intervals === null) throw new RangeError('the budget is too small for this mix');
    const projects = mix.map((perDay, index) => ({ perDay, weight: perDay, everyMs: intervals[index] ?? 0 }));
    return { modelMs: meanStaleness(projects) ?? 0, simulated: simulateStaleness(projects, { limit, days, seed }) };
  };
  return {
    equal: played(equalIntervals(passes(60_000), budget)),
    freshest: played(freshestIntervals(passes(60_000), budget)),
    proposed: played(freshestIntervals(passes(shortestProposedMs), budget)?.map(roundedUp) ?? null),
  };
}

/** Equal against freshest intervals as Markdown. */
function stalenessTable(): string {
  return [
    '# Staleness: equal intervals against those of `budget plan`',
    '',
    `Made by \`npm run build && node dist/bench/plan/staleness.js\`: ${days} simulated days a cell, seed ${seed}. Entries come at`,
    'random (Poisson); all intervals are chosen for 80 % of the limit; passes go through a sliding window, a run',
    'costs the pages its entries fill, with an overlap of 24 h. Times are minutes from an entry coming to it being stored,',
    'the mean over all entries: as the model has it, and as simulated. "proposed" is "freshest" rounded up to intervals that',
    `people write, at least ${shortestProposedMs / 60_000} min; the others may go down to 1 min. "gain" is 1 - freshest / equal, simulated.`,
    '"quietest" is the mean of the project with the fewest entries: what the others gain, it pays.',
    '',
    '| projects | limit | requests/h equal, freshest | equal: model, simulated | freshest: model, simulated | proposed | gain | quietest: equal, freshest | most in a window |',
    '|---|---|---|---|---|---|---|---|---|',
    ...Object.entries(mixes).flatMap(([name, mix]) => [100, 30].map((limit) => row(name, mix, limit))),
    '',
  ].join('\n');
}

function row(name: string, mix: readonly number[], limit: number): string {
  const { equal, freshest, proposed } = compare(mix, limit);
  const all = [equal, freshest, proposed];
  const quietest = mix.indexOf(Math.min(...mix));
  const cells = [
    name,
    limit,
    `${equal.simulated.requestsAnHour.toFixed(1)}, ${freshest.simulated.requestsAnHour.toFixed(1)}`,
    `${minutes(equal.modelMs)}, ${minutes(equal.simulated.meanMs)}`,
    `${minutes(freshest.modelMs)}, ${minutes(freshest.simulated.meanMs)}`,
    minutes(proposed.simulated.meanMs),
    `${Math.round(100 * (1 - freshest.simulated.meanMs / equal.simulated.meanMs))} %`,
    `${minutes(equal.simulated.projectMs[quietest] ?? null)}, ${minutes(freshest.simulated.projectMs[quietest] ?? null)}`,
    Math.max(...all.map(({ simulated }) => simulated.mostInWindow)),
  ];
  return `| ${cells.join(' | ')} |`;
}

function minutes(ms: number | null): string {
  return ms === null ? '-' : (ms / 60_000).toFixed(1);
}

if (import.meta.filename === process.argv[1]) process.stdout.write(stalenessTable());
