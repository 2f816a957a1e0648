import { defineConfig } from 'vitest/config';

/**
 * The tests of the budget's window for the mutation run (docs/mutation.md): without the simulations, and with few
 * random runs, as each of hundreds of mutants has to meet them.
 */
export default defineConfig({
  test: {
    include: [
      'test/model/budget/{sliding-window*,occupied-slots,waiter-order,other-clients,forecast,window-view,spare-requests,carried-window,program-shares}.test.ts',
    ],
    exclude: ['test/model/budget/other-clients.property.test.ts'],
    env: { WINDOW_PROPERTY_RUNS: '30' },
  },
});
