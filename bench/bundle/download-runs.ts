import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A way to get a file. */
export interface Fetcher {
  name: string;
  /** Null where the tool is missing. */
  command: string[] | null;
  /** Measures itself, and tells so as JSON. */
  ours: boolean;
}

export interface Run {
  exitCode: number;
  seconds: number;
  /** Of all processes of the command at most one: the largest. Ours: over its idle. */
  peakMb: number | null;
  sha256: string | null;
}

const time = '/usr/bin/time';
const childProgram = fileURLToPath(new URL('./download-child.js', import.meta.url));
const runTimeoutMs = 300_000;

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** docferry with so many connections. */
export function docferry(url: string, file: string, connections = 1): Fetcher {
  const name = connections === 1 ? 'docferry' : `docferry, ${connections} connections`;
  return { name, command: [process.execPath, childProgram, '--connections', `${connections}`, url, file], ours: true };
}

/** A tool of the system; its row says so where it is missing. */
export function tool(name: string, needs: readonly string[], command: readonly string[]): Fetcher {
  const there = needs.every((program) => spawnSync('which', [program]).status === 0);
  return { name, command: there ? [...command] : null, ours: false };
}

/** `curl | tee | openssl dgst`: what people write when they want the digest too. */
export function curlTeeOpenssl(url: string, file: string): Fetcher {
  const line = `set -o pipefail; curl -sf ${quoted(url)} | tee ${quoted(file)} | openssl dgst -sha256`;
  return tool('curl, tee, openssl dgst', ['curl', 'openssl', 'bash'], ['bash', '-c', line]);
}

/** One run; null where the tool is missing. */
export async function run({ command, ours }: Fetcher): Promise<Run | null> {
  if (command === null) return null;
  const timed = existsSync(time) && !ours ? [time, '-f', '%M'] : [];
  const [program = '', ...args] = [...timed, ...command];
  const begun = performance.now();
  const { exitCode, stdout, stderr } = await finish(program, args);
  const seconds = (performance.now() - begun) / 1000;
  if (ours) {
    if (exitCode !== 0) return { exitCode, seconds, peakMb: null, sha256: null };
    const told = JSON.parse(stdout) as { seconds: number; sha256: string; overIdleMb: number };
    return { exitCode, seconds: told.seconds, peakMb: told.overIdleMb, sha256: told.sha256 };
  }
  const kilobytes = Number(stderr.trim().split('\n').at(-1));
  const peakMb = timed.length > 0 && Number.isFinite(kilobytes) ? (kilobytes * 1024) / 1e6 : null;
  return { exitCode, seconds, peakMb, sha256: /[0-9a-f]{64}/.exec(stdout)?.[0] ?? null };
}

function finish(program: string, args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: runTimeoutMs });
    const out = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      out.stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      out.stderr = `${out.stderr}${chunk.toString()}`.slice(-10_000);
    });
    child.on('error', reject).on('close', (code) => resolve({ exitCode: code ?? -1, ...out }));
  });
}
