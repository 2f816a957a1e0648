import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/config/field-schemas.ts';
import { RefreshRun } from './refresh-run.ts';
import { type Measured, readWorld, World, type WorldFile } from './world.ts';

/*
 * How fresh `refresh` keeps a store, by a simulation with its own decisions (README.md): npm run bench:freshness --
 * --world FILE --share 90 [--every 1m] [--reserve 0] [--json]
 */

const { values } = parseArgs({
  options: {
    world: { type: 'string' },
    share: { type: 'string', default: '90' },
    every: { type: 'string', default: '1m' },
    reserve: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
  },
});

const everyMs = parseDuration(values.every);
if (everyMs === null) throw new Error(`--every held ${JSON.stringify(values.every)}: a duration such as 5m is needed`);
const share = numberIn('share', values.share, 1, 100) / 100;
const reserve = numberIn('reserve', values.reserve, 0, Number.MAX_SAFE_INTEGER);
const world = new World(await worldFile());
const expected = new RefreshRun(world, { share, everyMs, reserve }).play();
const measured = world.measured();
process.stdout.write(`${values.json ? JSON.stringify({ ...measured, expected }) : textOf(measured)}\n`);

async function worldFile(): Promise<WorldFile> {
  if (values.world === undefined) throw new Error('--world is needed: the file of a world (bench/freshness/README.md)');
  return readWorld(values.world);
}

function numberIn(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new Error(`--${name} held ${JSON.stringify(text)}: a number from ${least} to ${most} is needed`);
}

function textOf({ requestsPerHour, refused, othersRefused, J, ...groups }: Measured): string {
  const lines = (['new', 'status', 'silent'] as const).map((name) => {
    const { events, meanS, p95S, j } = groups[name];
    return `${name.padEnd(7)} ${events} events, ${meanS} s after on average, 95 % within ${p95S} s; J ${j}`;
  });
  const weighted = 10 * groups.new.j + groups.status.j + groups.silent.j;
  return [
    `${requestsPerHour.toFixed(1)} requests an hour, ${refused} refused, ${othersRefused} of others refused`,
    ...lines,
    `J ${J}; 10·new + status + silent ${weighted.toFixed(3)}`,
  ].join('\n');
}
