import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type ConnectionPlugin } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, inject } from 'vitest';
import { answers, findFreePort, loopbackAddress } from '../../../src/local/ports.ts';
import { searchAttributes } from '../../../src/rules/workflow-ids.ts';
import { limitCalls } from '../../../src/temporal/connection.ts';
import { installRuntime } from '../../../src/temporal/metrics.ts';
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

/** In milliseconds. A busy server may lose a part of a call and gives up after 30 s; it answers the next attempt. */
const limits = limitCalls({ attemptMs: 30_000, longPollMs: 70_000, queryMs: 30_000 });

/** Client and native connection to the shared real server. The client repeats lost calls, as docferry's does. */
export async function devServerEnvironment(): Promise<TestWorkflowEnvironment> {
  installRuntime(testLog);
  const { address, namespace } = useDevServer();
  const plugins: ConnectionPlugin[] = [
    { name: 'limits', configureConnection: (options) => ({ ...options, interceptors: [limits] }) },
  ];
  return TestWorkflowEnvironment.createFromExistingServer({ address, namespace, plugins });
}

/**
 * A time-skipping server of one's own. Time is global to it: one a test file, tests one after the other, and `teardown`
 * at the end. Schedules and listing do not work on it.
 */
export async function timeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  installRuntime(testLog);
  const port = await findFreePort();
  const server = spawn(inject('temporal').testServerBinary, [`${port}`], { stdio: 'ignore' });
  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  while (!(await answers(port))) {
    if (server.exitCode !== null) throw new Error(`the test server ended with ${server.exitCode}`);
    await sleep(50);
  }
  const address = loopbackAddress(port);
  await (await Connection.connect({ address, connectTimeout: 300_000 })).close();
  // `createTimeSkipping` gives a server 5 s to start, which a busy machine exceeds.
  const env: TestWorkflowEnvironment = await Reflect.get(TestWorkflowEnvironment, 'create').call(
    TestWorkflowEnvironment,
    { server: { type: 'existing' }, supportsTimeSkipping: true, address },
  );
  const disconnect = env.teardown.bind(env);
  env.teardown = async () => {
    await disconnect();
    process.off('exit', kill);
    kill();
  };
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
