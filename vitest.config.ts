import { defineConfig } from 'vitest/config';

const onTemporal = ['test/{workflows,e2e,client,cli,embedded,worker}/**/*.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    restoreMocks: true,
    // Nothing is measured by these: a test that hangs fails after them, and a busy machine takes its time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...onTemporal, 'test/chaos/**'],
          globalSetup: ['test/tools/servers/postgres-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'temporal',
          include: onTemporal,
          globalSetup: ['test/tools/temporal/temporal-setup.ts', 'test/tools/servers/postgres-setup.ts'],
        },
      },
      // Minutes long, and not part of `npm test`: `npm run test:chaos`.
      {
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          globalSetup: ['test/tools/servers/postgres-setup.ts'],
        },
      },
    ],
  },
});
