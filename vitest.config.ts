import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Where a test stands says when it runs:
//
// - `test/e2e` (whole programs on a real Temporal) and files named `*.slow.test.ts` (differential tests, timing, Chromium,
//   the packed package) run with `npm run test:all`, all but `story.test.ts`, which `npm test` runs too;
// - what uses a server (Temporal, PostgreSQL, S3), other programs, the built one or whole seconds runs with `npm test`,
//   after the rest;
// - everything else is a unit test: `npm run test:unit`, and first in `npm test`.
//
// `test/chaos` kills processes, or plays a month, for minutes: `npm run test:chaos`. `test/cluster` does so to a whole cluster:
// `npm run test:cluster`. `test/kube` needs a Kubernetes control plane, which `npm run test:kube` builds and starts.
const onServers = [
  'test/{workflows,temporal,schedules,operations,cli,local}/**/*.test.ts',
  'test/exports/{store,signing}/**/*.test.ts',
  'test/exports/rollout/{bucket-place,check-readers,git-place,watched-program}.test.ts',
  'test/feedback/store/*postgres*.test.ts',
  'test/lint/**/*.test.ts',
  'test/activities/{bundle-versions,fetch-bundle}.test.ts',
  'test/e2e/story.test.ts',
];
const named = ['test/**/*.slow.test.ts'];
const slow = ['test/e2e/**/*.test.ts', ...named];
const chaos = ['test/chaos/**/*.test.ts'];
const kube = ['test/kube/**/*.test.ts'];
const cluster = ['test/cluster/**/*.test.ts'];

const globalSetup = ['test/tools/temporal/temporal-setup.ts', 'test/tools/servers/postgres-setup.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    restoreMocks: true,
    // They measure nothing, so no test has limits of its own: what hangs fails after them, and a busy machine takes its time.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...onServers, ...slow, ...chaos, ...cluster, ...kube],
          // The files of a worker share its process and loaded modules, which saves a fifth of the time. A hook at the top
          // of a shared module would run for the first file only: such modules clean up by `onTestFinished`.
          isolate: false,
          // One more than processors: some of them wait.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: onServers,
          exclude: named,
          globalSetup,
          // As above: a test's organization, task queue and paths are of its own.
          isolate: false,
          // They wait for other processes much of the time.
          maxWorkers: availableParallelism() + 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: slow,
          exclude: ['test/e2e/story.test.ts'],
          globalSetup,
          // They wait more than they compute.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: { name: 'chaos', include: chaos, globalSetup, maxWorkers: 2 },
      },
      { extends: true, test: { name: 'kube', include: kube, globalSetup: ['test/tools/temporal/temporal-setup.ts'] } },
      { extends: true, test: { name: 'cluster', include: cluster } },
    ],
  },
});
