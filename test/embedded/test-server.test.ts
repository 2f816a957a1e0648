import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { timeSkippingEnvironment } from '../tools/temporal/temporal.ts';

let environment: TestWorkflowEnvironment;

beforeAll(async () => {
  environment = await timeSkippingEnvironment();
});

afterAll(async () => {
  await environment.teardown();
});

it('skips days in no time', async () => {
  const before = await environment.currentTimeMs();
  await environment.sleep('3 days');
  expect((await environment.currentTimeMs()) - before).toBeGreaterThanOrEqual(3 * 24 * 3600 * 1000);
});
