import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import type { Track } from '../tools/track.ts';
import { type FleetRun, type Load, runFleet } from './fleet-run.ts';
import type { FleetSize } from './fleet-size.ts';
import type { Program } from './fleet-stage.ts';
import { fleetPage, fleetParts, partsOf, withMeasuredFleet } from './fleet-table.ts';

/*
 * The row "fleet" of bench/README.md: npm run bench:fleet [-- --only exports --sites 200 --projects 40 --one-worker]
 * Writes bench/results/fleet.md, where parts with another title stay as they are, and the row once it was measured in full. Needs Linux and a quarter of an hour on
 * two cores that have nothing else to do.
 */

const usualOut = 'bench/results/fleet.md';
const args = process.argv.slice(2);
const { values } = parseArgs({
  args,
  options: {
    only: { type: 'string', multiple: true, default: ['exports', 'syncs'] },
    program: { type: 'string', multiple: true, default: ['docferry', 'bare'] },
    sites: { type: 'string', default: '1000' },
    projects: { type: 'string', default: '200' },
    organizations: { type: 'string', default: '20' },
    entries: { type: 'string', default: '1000' },
    failover: { type: 'string', default: 'tolerant' },
    'job-seconds': { type: 'string', default: '20' },
    'one-worker': { type: 'boolean', default: false },
    out: { type: 'string', default: usualOut },
  },
});

/** Of the figure to reach. */
const fullSize: FleetSize = {
  sites: 1_000,
  projects: 200,
  organizations: 20,
  entries: 1_000,
  failover: 'tolerant',
  jobSeconds: 20,
};
const readme = 'bench/README.md';

const size: FleetSize = {
  sites: Number(values.sites),
  projects: Number(values.projects),
  organizations: Number(values.organizations),
  entries: Number(values.entries),
  failover: values.failover === 'fast' ? 'fast' : 'tolerant',
  jobSeconds: Number(values['job-seconds']),
};
const loads: readonly Load[] = ['exports', 'syncs'];
const programs: readonly Program[] = ['docferry', 'bare'];

let latest: Promise<{ stop(): Promise<void> } | null> | undefined;
const track: Track = (opening) => {
  latest = opening;
};
const interrupted = async () => {
  await latest?.then((stage) => stage?.stop()).catch(() => {});
  process.exit(130);
};
process.once('SIGINT', () => void interrupted());
process.once('SIGTERM', () => void interrupted());

const command = ['npm run bench:fleet', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
const runs: FleetRun[] = [];

for (const load of loads.filter((name) => values.only.includes(name))) {
  for (const program of programs.filter((name) => values.program.includes(name))) await measure(load, program, 1);
  if (!values['one-worker'] && values.program.includes('docferry')) await measure(load, 'docferry', 2);
}
process.stdout.write(await save());

async function measure(load: Load, program: Program, workers: number): Promise<void> {
  process.stderr.write(`${load}: ${program}, ${workers} of its workers …\n`);
  const run = await runFleet(load, program, { workers, size, track });
  process.stderr.write(`  ${run.histories.seconds.toFixed(0)} s\n`);
  runs.push(run);
  await save();
}

/** Writes what is measured so far: a run takes long, and the last part may fail. */
async function save(): Promise<string> {
  const earlier = partsOf(await readFile(values.out, 'utf8').catch(() => ''));
  const parts = new Map([...earlier, ...fleetParts(command, size, runs)]);
  const page = fleetPage(parts);
  await mkdir(dirname(values.out), { recursive: true });
  await writeFile(values.out, page);
  if (values.out === usualOut) {
    await writeFile(readme, withMeasuredFleet(await readFile(readme, 'utf8'), parts, fullSize));
  }
  return page;
}
