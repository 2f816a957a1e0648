import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveBinary } from '../../../src/local/binaries.ts';
import { answers, findFreePort } from '../../../src/local/ports.ts';
import { runCommand, type Tool, timeLimit } from '../../../src/local/run-command.ts';

const version = '0.0.1a15';
const limitMs = 10 * 60_000;

/** Rotel, a collector of OpenTelemetry in one small program, which comes as a package for Python. */
const collectorTool: Tool = {
  title: 'OpenTelemetry collector (rotel)',
  executable: 'rotel-agent',
  variable: 'ROTEL_PATH',
  cacheName: `rotel-${version}`,
  makers: [
    {
      name: 'pip download',
      async make({ folder, env }) {
        const options = { env, cwd: folder, signal: timeLimit(limitMs) };
        await runCommand(
          'python3',
          ['-m', 'pip', 'download', '--no-deps', '--dest', folder, `rotel==${version}`],
          options,
        );
        const [wheel = ''] = await readdir(folder);
        await runCommand('python3', ['-m', 'zipfile', '-e', wheel, '.'], options);
        await rename(join(folder, 'rotel/rotel-agent'), join(folder, 'rotel-agent'));
        await chmod(join(folder, 'rotel-agent'), 0o755);
        await rm(join(folder, wheel));
      },
    },
  ],
  waysOut: [
    'set ROTEL_PATH to the program rotel-agent',
    'install Python 3.11 with pip and let it reach a package index',
  ],
  async check(path, env) {
    const lines = await runCommand(path, ['--version'], { env, signal: timeLimit(limitMs) });
    return lines.join(' ');
  },
};

/** A span as the collector received it. */
export interface CollectedSpan {
  id: string;
  traceId: string;
  /** Empty for the first of a trace. */
  parentId: string;
  name: string;
  status: string;
  attributes: Record<string, string>;
}

export interface Collector {
  url: string;
  /** Everything it has received, as it writes it down. */
  text(): string;
  spans(): CollectedSpan[];
  stop(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const { path } = await resolveBinary(collectorTool);
  const [http, grpc] = [await findFreePort(), await findFreePort()];
  const listen = ['--otlp-http-endpoint', `127.0.0.1:${http}`, '--otlp-grpc-endpoint', `127.0.0.1:${grpc}`];
  const show = ['--exporter', 'blackhole', '--debug-log', 'traces', '--debug-log-verbosity', 'detailed'];
  const child = spawn(path, ['start', ...listen, ...show], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
    });
  }
  while (!(await answers(http))) if (child.exitCode !== null) throw new Error(`the collector ended: ${text}`);
  return {
    url: `http://127.0.0.1:${http}`,
    text: () => text,
    spans: () =>
      text
        .split(/^Span #\d+$/m)
        .slice(1)
        .map(readSpan),
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

function readSpan(text: string): CollectedSpan {
  const field = (name: string) => new RegExp(`^ *${name} *: (.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
  const attributes = [...text.matchAll(/^ *-> ([\w.]+): \w+\((.*)\)$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  return {
    id: field('ID'),
    traceId: field('Trace ID'),
    parentId: field('Parent ID'),
    name: field('Name'),
    status: field('Status code'),
    attributes: Object.fromEntries(attributes),
  };
}
