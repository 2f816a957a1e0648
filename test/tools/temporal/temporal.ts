import { temporal } from '@temporalio/proto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, inject } from 'vitest';
import { searchAttributes } from '../../../src/model/workflow-ids.ts';
import { installRuntime } from '../../../src/wiring/sdk-runtime.ts';
import type { TemporalTestContext } from './temporal-setup.ts';
import { testLog } from './test-log.ts';

/** The one real server of this test run: in memory, tuned as `up` tunes it, with docferry's search attributes. */
export function useDevServer(): TemporalTestContext['devServer'] {
  return inject('temporal').devServer;
}

/** The `temporal` program of this test run, for tests that start servers of their own. */
export function devServerBinary(): string {
  return inject('temporal').devServerBinary;
}

/** Client and native connection to the shared real server. */
export async function devServerEnvironment(): Promise<TestWorkflowEnvironment> {
  installRuntime(testLog);
  const { address, namespace } = useDevServer();
  return TestWorkflowEnvironment.createFromExistingServer({ address, namespace });
}

/**
 * A time-skipping server of one's own. Time is global to it: one a test file, tests one after the other, and `teardown`
 * at the end. Schedules and listing do not work on it.
 */
export async function timeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  installRuntime(testLog);
  const executable = { type: 'existing-path', path: inject('temporal').testServerBinary } as const;
  const create = () => TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
  // The SDK gives it 5 s to start, which a busy machine may exceed.
  const env = await create().catch(create).catch(create);
  await env.connection.operatorService.addSearchAttributes({
    namespace: env.namespace ?? 'default',
    searchAttributes: Object.fromEntries(
      Object.values(searchAttributes).map((name) => [
        name,
        temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
      ]),
    ),
  });
  return env;
}

/** The environment of a test file until after its last test: for the top of the file. */
export async function forThisFile(environment: Promise<TestWorkflowEnvironment>): Promise<TestWorkflowEnvironment> {
  const env = await environment;
  afterAll(() => env.teardown());
  return env;
}

/** Docferry's workflows, bundled from the current sources once in this run; for `Worker.create({ workflowBundle })`. */
export function workflowBundle(): { codePath: string } {
  const { bundle } = inject('temporal');
  if ('error' in bundle) throw new Error(`the workflows could not be bundled: ${bundle.error}`);
  return bundle;
}
