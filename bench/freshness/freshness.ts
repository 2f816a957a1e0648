import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/config/field-schemas.ts';
import type { ExpectedDelays } from '../../src/feedback/rules/refresh/expected.ts';
import { drawWorld, habits, type WorldPlan } from './draw-world.ts';
import { RefreshRun } from './refresh-run.ts';
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
    worlds: { type: 'string' },
    out: { type: 'string', default: 'bench/results/freshness.md' },
  },
});

const share = numberIn('share', 1, 100) / 100;
const reserve = numberIn('reserve', 0, Number.MAX_SAFE_INTEGER);
if (values.worlds !== undefined) writeFileSync(values.out, await table(values.worlds));
else if (values['write-world'] !== undefined) writeFileSync(values['write-world'], linesOf(drawWorld(worldPlan())));
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
  // Files of others may lack `j`; the measured days are fourteen.
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

/**
 * A row for each world NAME.jsonl of a folder beside which NAME.reference.json has the figures of a reference policy.
 * Figures are kept in NAME.1m.json and NAME.5m.json, so that a run that was stopped goes on where it was.
 */
async function table(folder: string): Promise<string> {
  const names = readdirSync(folder).flatMap((file) => (file.endsWith('.reference.json') ? [file.slice(0, -15)] : []));
  const rows: string[] = [];
  const ratios: number[] = [];
  for (const name of names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))) {
    const reference = JSON.parse(readFileSync(join(folder, `${name}.reference.json`), 'utf8')) as Measured;
    const ours = await kept(folder, name, '1m');
    const seldom = await kept(folder, name, '5m');
    const ratio = sumOf(ours) / sumOf(reference);
    ratios.push(ratio);
    const parts = weighted(ours).map((part, place) => `${part.toFixed(2)} / ${weighted(reference)[place]?.toFixed(2)}`);
    const requests = `${ours.requestsPerHour.toFixed(0)} / ${reference.requestsPerHour.toFixed(0)}`;
    rows.push(
      `| ${name} | ${requests} | ${parts.join(' | ')} | **${ratio.toFixed(3)}** | ${(sumOf(seldom) / sumOf(reference)).toFixed(3)} | ${ours.refused} |`,
    );
  }
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  return tableText(rows, mean, Math.max(...ratios));
}

function sumOf(groups: Pick<Measured, (typeof kinds)[number]>): number {
  return weighted(groups).at(-1) ?? 0;
}

async function kept(folder: string, name: string, every: string): Promise<Measured> {
  const file = join(folder, `${name}.${every}.json`);
  if (!existsSync(file))
    writeFileSync(file, JSON.stringify(play(await readWorld(join(folder, `${name}.jsonl`)), every)));
  return JSON.parse(readFileSync(file, 'utf8')) as Measured;
}

function tableText(rows: readonly string[], mean: number, most: number): string {
  return [
    '# Freshness: one queue beside a reference policy',
    '',
    `Made by \`npm run bench:freshness -- --worlds FOLDER --share ${values.share}\`; the folder holds worlds and a reference`,
    "policy's figures on them with the same share ([format](../freshness/README.md)). A world is named by its projects, the",
    'requests of other clients an hour and its seed; `u`: half of the entries are never triaged. Each cell is ours / the',
    'reference: requests an hour, then the mean number of changes that the store lacks, new ones counted ten times. The',
    'ratio is that of the sums: at most 1.05 is the figure to reach. The reference knows what other clients use; ours learns',
    'it from requests that are refused, and is refused from time to time. `bulk`, `office` and `waking` are worlds of five',
    'projects with these habits.',
    '',
    '| world | requests | 10·new | status | silent | sum | ratio | ratio, every 5m | refused in 31 days |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
    `Ratio on average ${mean.toFixed(3)}, at most ${most.toFixed(3)}.`,
    '',
  ].join('\n');
}
