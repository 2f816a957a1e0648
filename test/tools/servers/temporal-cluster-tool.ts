import { access, cp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { MakeContext, Tool } from '../../../src/local/run-command.ts';
import { runCommand, timeLimit } from '../../../src/local/run-command.ts';

/** As in docker-compose.yml; `TEMPORAL_SERVER_VERSION` names another. */
const version = process.env.TEMPORAL_SERVER_VERSION ?? '1.32.0';
const buildLimitMs = 60 * 60_000;
const checkLimitMs = 30_000;

/** What stands beside the server in its folder: the program that makes its tables, and their definitions. */
const sqlTool = 'temporal-sql-tool';
export const schemaFolder = 'schema/postgresql/v12';

/**
 * Temporal's own server, as clusters run it, and what makes its tables in PostgreSQL. Built from the module's source,
 * which `go install` refuses because of its replace directives.
 */
export const temporalClusterTool: Tool = {
  title: 'Temporal server',
  executable: 'temporal-server',
  variable: 'TEMPORAL_SERVER_PATH',
  cacheName: `temporal-server-${version}`,
  makers: [{ name: 'go build', make: buildFromModule }],
  waysOut: [
    `set TEMPORAL_SERVER_PATH to a temporal-server that has ${sqlTool} and ${schemaFolder} of its source beside it`,
    'install Go 1.26 or newer and let it reach a module proxy (GOPROXY)',
  ],
  async check(path, env) {
    for (const name of [sqlTool, schemaFolder]) await access(join(dirname(path), name));
    const [line = ''] = await runCommand(path, ['--version'], { env, signal: timeLimit(checkLimitMs) });
    if (!line.startsWith('temporal version')) throw new Error(`${path} is not a Temporal server`);
    return line.replace('temporal version ', '');
  },
};

const moduleSchema = z.object({ Dir: z.string() });

async function buildFromModule({ folder, env, onProgress }: MakeContext): Promise<void> {
  const signal = timeLimit(buildLimitMs);
  const module = `go.temporal.io/server@v${version}`;
  onProgress(`building ${module} takes five minutes on two idle cores, once`);
  const lines = await runCommand('go', ['mod', 'download', '-json', module], { env, cwd: folder, signal });
  const { Dir } = moduleSchema.parse(JSON.parse(lines.slice(lines.indexOf('{')).join('\n')));
  const source = join(folder, 'source');
  await cp(Dir, source, { recursive: true });
  await runCommand('chmod', ['-R', 'u+w', source], { env, signal });
  // Without paths in them, compiled packages are found again by a build that follows an interrupted one.
  const build = ['build', '-trimpath', '-ldflags', '-s -w', '-o'];
  for (const [program, packageName] of [
    ['temporal-server', './cmd/server'],
    [sqlTool, './cmd/tools/sql'],
  ] as const) {
    onProgress(`compiling ${program}`);
    await runCommand('go', [...build, join(folder, program), packageName], { env, cwd: source, signal });
  }
  await cp(join(source, schemaFolder), join(folder, schemaFolder), { recursive: true });
  await rm(source, { recursive: true, force: true });
}
