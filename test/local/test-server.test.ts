import { expect, it } from 'vitest';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';

const environment = await forThisFile(timeSkippingEnvironment());

it('skips days in no time', async () => {
  const before = await environment.currentTimeMs();
  await environment.sleep('3 days');
  expect((await environment.currentTimeMs()) - before).toBeGreaterThanOrEqual(3 * 24 * 3600 * 1000);
});
