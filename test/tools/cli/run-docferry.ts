import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { OutputStream } from '../../../src/cli/context.ts';
import { runIn } from '../../../src/cli/run.ts';

/** The built command line; `npm test` builds it. */
export const bin = fileURLToPath(new URL('../../../dist/src/starter.js', import.meta.url));

export interface Finished {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  /**
   * Runs the built program as a process of its own: for signals, pipes, what belongs to the build, and what is decided by the process's own
   * variables (Node's, Temporal's, a proxy's). Else the command line runs in this process, which loads it once.
   */
  ownProcess?: boolean;
  /** Called with the process, which is one of its own, and everything it has said so far, whenever it says something. */
  onOutput?: (child: ChildProcess, said: string) => void;
}

/** Runs a command line with these variables alone. */
export async function docferry(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { cwd = await emptyFolder(), env = {}, ownProcess, onOutput } = options;
  if (ownProcess || onOutput) return runProcess(args, { cwd, env, onOutput });
  const finished: Finished = { exitCode: null, stdout: '', stderr: '' };
  const captured = (name: 'stdout' | 'stderr'): OutputStream => ({
    write(text, done) {
      finished[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
      done?.();
      return true;
    },
  });
  const surroundings = { env: { HOME: cwd, ...env }, cwd, stdout: captured('stdout'), stderr: captured('stderr') };
  finished.exitCode = await runIn(surroundings, args);
  return finished;
}

/** Runs the built program as a shell would, in a clean environment. */
async function runProcess(
  args: readonly string[],
  { cwd, env, onOutput }: { cwd: string; env: Record<string, string>; onOutput: RunOptions['onOutput'] },
): Promise<Finished> {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const finished: Finished = { exitCode: null, stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      finished[name] += text;
      onOutput?.(child, finished.stdout + finished.stderr);
    });
  }
  finished.exitCode = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return finished;
}

/** As `docferry --json …`: stdout has to be one JSON document and nothing else. */
export async function docferryJson(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished & { document: Record<string, unknown> }> {
  const finished = await docferry([...args, '--json'], options);
  return { ...finished, document: JSON.parse(finished.stdout) };
}

export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'docferry-cli-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface ConfigText {
  address?: string;
  taskQueue?: string;
  organizations?: string;
}

/** A folder with a docferry.yaml whose Temporal is nowhere, unless an address is given. */
export async function folderWithConfig(parts: ConfigText = {}): Promise<string> {
  const folder = await emptyFolder();
  await writeFile(join(folder, 'docferry.yaml'), configText(parts));
  return folder;
}

export function configText({ address = '127.0.0.1:1', taskQueue = 'docferry', organizations }: ConfigText): string {
  return `temporal: { address: "${address}", taskQueue: ${taskQueue} }
service: { baseUrl: "http://127.0.0.1:9" }
organizations:
${organizations ?? acme}`;
}

const acme = `  - id: acme
    apiKey: dk_admin_secret_of_acme
    budget: { requests: 40, window: 30m, reserve: 4 }
    projects: [{ id: prj_1 }]
    sites: [{ domain: docs.acme.example }]
`;
