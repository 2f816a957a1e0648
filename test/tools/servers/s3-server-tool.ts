import type { Tool } from '../../../src/local/run-command.ts';
import { runCommand, timeLimit } from '../../../src/local/run-command.ts';

const version = '1.8.0';
const buildLimitMs = 20 * 60_000;
const checkLimitMs = 30_000;

/** The S3 server that the tests of the S3 store run against: versitygw, which honours conditional writes. */
export const s3TestServerTool: Tool = {
  title: 'S3 test server (versitygw)',
  executable: 'versitygw',
  variable: 'VERSITYGW_PATH',
  cacheName: `versitygw-${version}`,
  makers: [
    {
      name: 'go install',
      async make({ folder, env, onProgress }) {
        onProgress('building it takes a minute or two, once');
        const args = ['install', '-ldflags', '-s -w', `github.com/versity/versitygw/cmd/versitygw@v${version}`];
        const options = { env: { ...env, GOBIN: folder }, cwd: folder, signal: timeLimit(buildLimitMs) };
        await runCommand('go', args, options);
      },
    },
  ],
  waysOut: [
    'put versitygw on the PATH, or set VERSITYGW_PATH to it',
    'install Go 1.25 or newer and let it reach a module proxy (GOPROXY)',
  ],
  async check(path, env) {
    const lines = await runCommand(path, ['--version'], { env, signal: timeLimit(checkLimitMs) });
    if (!lines.some((line) => line.startsWith('Version'))) throw new Error(`${path} is not versitygw`);
    return version;
  },
};
