import { defineConfig } from 'vitest/config';

/**
 * The tests of the budget's window for the mutation run: without the simulations, and with few
 * random runs, as each of hundreds of mutants has to meet them.
 */
export default defineConfig({
  test: {
    include: [
      'test/model/budget/{waiter-order,other-clients,forecast,program-shares}.test.ts',
      'test/model/budget/window/{sliding-window*,occupied-slots,window-view,carried-window}.test.ts',
    ],
    exclude: ['test/model/budget/other-clients.property.test.ts'],
    env: { PROPERTY_RUNS: '0.03' },
  },
});
