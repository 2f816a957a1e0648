import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/config/field-schemas.ts';
import type { ExpectedDelays } from '../../src/feedback/rules/refresh/expected.ts';
import { drawWorld, habits, type WorldPlan } from './draw-world.ts';
import { loadReference, type Reference } from './reference.ts';
import { RefreshRun } from './refresh-run.ts';
import { playThreePasses } from './three-passes.ts';
import { type Measured, readWorld, World, type WorldFile } from './world.ts';

/* How fresh `refresh` keeps a store, by a simulation with its own decisions (README.md): npm run bench:freshness. */

const kinds = ['new', 'status', 'silent'] as const;

type Result = Measured & { expected: ExpectedDelays };

const { values } = parseArgs({
  options: {
    world: { type: 'string' },
    projects: { type: 'string', default: '5' },
    others: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    untriaged: { type: 'string', default: '0' },
    habits: { type: 'string', default: 'even' },
    share: { type: 'string', default: '90' },
    every: { type: 'string', default: '1m' },
    reserve: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
    'write-world': { type: 'string' },
    reference: { type: 'string' },
    only: { type: 'string', default: '' },
    keep: { type: 'string', default: join(tmpdir(), 'docferry-freshness') },
    out: { type: 'string', default: 'bench/results/freshness.md' },
  },
});

const share = numberIn('share', 1, 100) / 100;
const reserve = numberIn('reserve', 0, Number.MAX_SAFE_INTEGER);
if (values.reference !== undefined) {
  const page = await table(await loadReference(values.reference), values.keep);
  if (values.only === '') writeFileSync(values.out, page);
  process.stdout.write(page);
} else if (values['write-world'] !== undefined) writeFileSync(values['write-world'], linesOf(drawWorld(worldPlan())));
else {
  const result = play(
    values.world === undefined ? drawWorld(worldPlan()) : await readWorld(values.world),
    values.every,
  );
  process.stdout.write(`${values.json ? JSON.stringify(result) : textOf(result)}\n`);
}

function play(file: WorldFile, every: string): Result {
  const everyMs = parseDuration(every);
  if (everyMs === null) throw new Error(`--every held ${JSON.stringify(every)}: a duration such as 5m is needed`);
  const world = new World(file);
  const expected = new RefreshRun(world, { share, everyMs, reserve }).play();
  return { ...world.measured(), expected };
}

function worldPlan(): WorldPlan {
  const kind = habits.find((name) => name === values.habits);
  if (kind === undefined) throw new Error(`--habits held ${values.habits}: known are ${habits.join(', ')}`);
  return {
    projects: numberIn('projects', 1, 1_000),
    others: numberIn('others', 0, 100),
    seed: numberIn('seed', 0, Number.MAX_SAFE_INTEGER),
    untriaged: numberIn('untriaged', 0, 1),
    habits: kind,
  };
}

function numberIn(
  name: 'share' | 'reserve' | 'projects' | 'others' | 'seed' | 'untriaged',
  least: number,
  most: number,
): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new Error(`--${name} held ${JSON.stringify(values[name])}: a number from ${least} to ${most} is needed`);
}

function linesOf({ entries, events, others, ...head }: WorldFile): string {
  const lines: object[] = [head, ...entries, ...events, ...others.map((other) => ({ other }))];
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

/** 10·new, status, silent, and their sum. */
function weighted(groups: Pick<Measured, (typeof kinds)[number]>): number[] {
  // The reference has no `j`; the measured days are fourteen.
  const parts = kinds.map((kind) => {
    const { events, meanS } = groups[kind];
    return (events * meanS) / (14 * 86_400);
  });
  const [fresh = 0, status = 0, silent = 0] = parts;
  return [10 * fresh, status, silent, 10 * fresh + status + silent];
}

function textOf(result: Result): string {
  const { requestsPerHour, refused, othersRefused, J, expected } = result;
  const lines = kinds.map((kind) => {
    const { events, meanS, p95S, j } = result[kind];
    const said = { new: expected.newMs, status: expected.statusMs, silent: expected.silentMs }[kind];
    const soon = said === null ? '' : `, expected ${Math.round(said / 1_000)} s`;
    return `${kind.padEnd(7)} ${events} events, ${meanS} s after on average${soon}, 95 % within ${p95S} s; J ${j}`;
  });
  return [
    `${requestsPerHour.toFixed(1)} requests an hour, ${refused} refused, ${othersRefused} of others refused`,
    ...lines,
    `J ${J}; 10·new + status + silent ${weighted(result).at(-1)?.toFixed(3)}`,
  ].join('\n');
}

/** The worlds of the table: all of the reference, and three of our own habits. */
function matrix(reference: Reference): { name: string; draw: () => WorldFile }[] {
  const even = [1, 5, 20, 100].flatMap((projects) =>
    [0, 30, 60].flatMap((others) =>
      [1, 2, 3].flatMap((seed) =>
        [0, 0.5].map((untriaged) => ({
          name: `${projects}-${others}-${seed}${untriaged === 0 ? '' : '-u'}`,
          draw: () => reference.draw({ projects, others, seed, untriaged, habits: 'even' }),
        })),
      ),
    ),
  );
  const others = (['bulk', 'office', 'waking'] as const).flatMap((habit) =>
    [1, 2, 3].map((seed) => ({
      name: `${habit}-${seed}`,
      draw: () => drawWorld({ projects: 5, others: 0, seed, untriaged: 0, habits: habit }),
    })),
  );
  return [...even, ...others].filter(({ name }) => name.startsWith(values.only));
}

type Figures = Pick<Measured, (typeof kinds)[number] | 'requestsPerHour' | 'refused'>;

/**
 * A row for each world. Figures are kept in files of `folder`, so that a run that was stopped goes on where it was:
 * whoever changes a policy removes them.
 */
async function table(reference: Reference, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const rows: string[] = [];
  const ratios: number[] = [];
  const beside: number[] = [];
  for (const { name, draw } of matrix(reference)) {
    let drawn: WorldFile | null = null;
    const world = () => (drawn ??= draw());
    const kept = (policy: string, figures: () => Figures): Figures => {
      const file = join(folder, `${name}.${policy}.json`);
      if (!existsSync(file)) writeFileSync(file, JSON.stringify(figures()));
      return JSON.parse(readFileSync(file, 'utf8')) as Figures;
    };
    const best = kept('reference', () => reference.play(world(), share));
    const ours = kept('1m', () => play(world(), '1m'));
    const seldom = kept('5m', () => play(world(), '5m'));
    const three = kept('three', () => {
      const played = new World(world());
      playThreePasses(played, ours.requestsPerHour);
      return played.measured();
    });
    const [whole, most] = [sumOf(ours) / sumOf(best), sumOf(ours) / sumOf(three)];
    ratios.push(whole);
    beside.push(most);
    const all = [ours, best, three].map(weighted);
    const parts = [0, 1, 2, 3].map((place) => all.map((sums) => (sums[place] ?? 0).toFixed(2)).join(' / '));
    const requests = [ours, best, three].map(({ requestsPerHour }) => requestsPerHour.toFixed(0)).join(' / ');
    const often = (sumOf(seldom) / sumOf(best)).toFixed(3);
    rows.push(
      `| ${name} | ${requests} | ${parts.join(' | ')} | **${whole.toFixed(3)}** | ${often} | ${most.toFixed(2)} | ${ours.refused} |`,
    );
    process.stderr.write(`${rows.at(-1)}\n`);
  }
  return tableText(rows, ratios, beside);
}

const sumOf = (figures: Figures): number => weighted(figures).at(-1) ?? 0;
const meanOf = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / all.length;

function tableText(rows: readonly string[], ratios: readonly number[], beside: readonly number[]): string {
  return [
    '# Freshness: one queue beside a reference policy and beside three scheduled passes',
    '',
    `Made by \`npm run bench:freshness -- --reference FOLDER --share ${values.share}\` ([worlds and policies](../freshness/README.md)).`,
    'A world is named by its projects, the requests of other clients an hour and its seed; `u`: half of the entries are',
    'never triaged; `bulk`, `office` and `waking` are worlds of five projects with these habits. Each cell is ours / the',
    "reference's / three passes': requests an hour, then the mean number of changes that the store lacks, new ones counted",
    'ten times. The ratio is that of the sums, ours to the reference: at most 1.05 is the figure to reach; ours to three',
    'passes: at most 0.5. The reference knows what other clients use; ours learns it from requests that are refused, and',
    'is refused from time to time.',
    '',
    '| world | requests | 10·new | status | silent | sum | ratio | every 5m | to three passes | refused in 31 days |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
    `Ratio on average ${meanOf(ratios).toFixed(3)}, at most ${Math.max(...ratios).toFixed(3)}; to three passes on average ${meanOf(beside).toFixed(2)}, at most ${Math.max(...beside).toFixed(2)}.`,
    '',
  ].join('\n');
}
