import { downloadWithSdk } from '../../../src/local/binaries.ts';
import type { Tool } from '../../../src/local/run-command.ts';
import { runCommand, timeLimit } from '../../../src/local/run-command.ts';
import { fetchWithMaven } from './fetch-with-maven.ts';

const version = '1.31.0';
const checkLimitMs = 30_000;

/** The time-skipping test server of the tests of workflows. */
export const testServerTool: Tool = {
  title: 'Temporal time-skipping test server',
  executable: 'temporal-test-server',
  variable: 'TEMPORAL_TEST_SERVER_PATH',
  cacheName: `temporal-test-server-${version}`,
  makers: [
    {
      name: 'SDK download',
      make: (context) =>
        downloadWithSdk(
          { method: 'createTimeSkipping', version: `v${version}`, executable: 'temporal-test-server' },
          context,
        ),
    },
    { name: 'Maven', make: (context) => fetchWithMaven(version, 'temporal-test-server', context) },
  ],
  waysOut: [
    'put temporal-test-server on the PATH, or set TEMPORAL_TEST_SERVER_PATH to it',
    'let this machine reach https://temporal.download (HTTPS_PROXY is honoured)',
    'install Java 11 or newer and Maven, and let Maven reach a repository',
  ],
  check: checkTestServer,
};

/** Without arguments the test server prints how it is used and ends. */
async function checkTestServer(path: string, env: NodeJS.ProcessEnv): Promise<string> {
  const output = (await runCommand(path, [], { env, signal: timeLimit(checkLimitMs) })).join(' ');
  if (!output.includes('--enable-time-skipping')) throw new Error(`${path} is not a Temporal test server`);
  return 'version not reported';
}
