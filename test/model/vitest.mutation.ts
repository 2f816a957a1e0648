import { defineConfig } from 'vitest/config';

/**
 * The tests of the budget's window for the mutation run (docs/mutation.md): without the simulations, and with few
 * random runs, as each of hundreds of mutants has to meet them.
 */
export default defineConfig({
  test: {
    include: [
      'test/model/{sliding-window*,held-slots,permit-queue,strangers,forecast,window-view,spare-requests}.test.ts',
    ],
    exclude: ['test/model/strangers.property.test.ts'],
    env: { WINDOW_PROPERTY_RUNS: '30' },
  },
});
