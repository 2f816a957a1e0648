import { expect, it } from 'vitest';
import type { FleetRun } from '../../../bench/fleet/fleet-run.ts';
import { fleetPage, fleetParts, partsOf, withMeasuredFleet } from '../../../bench/fleet/fleet-table.ts';

const size = {
  sites: 1_000,
  projects: 200,
  organizations: 20,
  entries: 1_000,
  failover: 'tolerant' as const,
  jobSeconds: 20,
};
const readme =
  '| row | figure | measured | command |\n|---|---|---|---|\n| fleet | at most 1.5 | 9.99 | `npm` |\n| status | 2 s | 1 s | x |\n';

/** A run of 1,000 exports that took so many seconds. */
const run = (program: 'docferry' | 'bare', seconds: number): FleetRun => ({
  load: 'exports',
  program,
  workers: 1,
  histories: {
    runs: 1_000,
    completed: 1_000,
    seconds,
    events: 62_000,
    workflowTasks: 10_000,
    timedOutTasks: 0,
    failedTasks: 0,
    actions: 16_000,
    activities: 6_000,
  },
  usage: { workers: 150, temporal: 160, service: 10, peak: 500 * 2 ** 20 },
  requests: { analytics: 0, export: 5_000, storage: 1_000 },
});

it('writes the row of the benchmarks from a page that was measured in full, and leaves the others', () => {
  const page = fleetPage(fleetParts('npm run bench:fleet', size, [run('docferry', 150), run('bare', 100)]));
  const written = withMeasuredFleet(readme, partsOf(page), size);
  const row =
    '| fleet | at most 1.5 | 1000 exports 1.50 (150 + 160 ms of processor each, worker and Temporal, against 150 + 160), 500 MiB, 0 time-outs | `npm` |';
  expect(written).toBe(readme.replace(/^\| fleet .*$/m, row));
});

it('leaves the row alone after a run of another size or of one program', () => {
  const smaller = fleetPage(fleetParts('npm run', { ...size, sites: 200 }, [run('docferry', 150), run('bare', 100)]));
  expect(withMeasuredFleet(readme, partsOf(smaller), size)).toBe(readme);
  const alone = fleetPage(fleetParts('npm run', size, [run('docferry', 150)]));
  expect(withMeasuredFleet(readme, partsOf(alone), size)).toBe(readme);
});
