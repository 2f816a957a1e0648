import { spawn } from 'node:child_process';
import { isAbsolute, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgramConfig } from '../../config/config.ts';
import { spanText } from '../../rules/text.ts';
import { programHeartbeatMs } from '../rules/rollout-steps.ts';
import { type RolloutRequest, type Step, TargetRefused, VersionRefused, withFiles } from './rollout-target.ts';

/**
 * The parent of a program: a small process of its own that leads the program's process group. It ends the group when its
 * input ends, as when the worker dies, or is silent for too long, and what is left of the group when the program ends.
 */
const parent = `
const { spawn } = require('node:child_process');
const { writeSync } = require('node:fs');
const [silentMs, graceMs, program, ...args] = process.argv.slice(1);
const group = (signal) => process.kill(-process.pid, signal);
let ending = false;
const end = () => {
  if (ending) return;
  ending = true;
  group('SIGTERM');
  setTimeout(() => group('SIGKILL'), Number(graceMs));
};
process.on('SIGTERM', () => {});
let silence = setTimeout(end, Number(silentMs));
process.stdin.on('data', () => {
  clearTimeout(silence);
  silence = setTimeout(end, Number(silentMs));
});
process.stdin.on('end', end).on('error', end);
const report = (end) => {
  try {
    writeSync(3, JSON.stringify(end));
  } catch {}
  group('SIGKILL');
};
const child = spawn(program, args, { stdio: ['ignore', 1, 2] });
child.on('error', ({ code }) => report({ missing: code }));
child.on('exit', (code, signal) => report({ code, signal }));
`;

/** How a program ended: by itself, by a signal, or not at all because it could not be started. */
interface ProgramEnd {
  code: number | null;
  signal: string | null;
  /** Code of the system error, e.g. `ENOENT`; null when it was started. */
  missing: string | null;
  output: string;
}

interface ProgramOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** The program is ended when nothing was heard of this worker for so long. */
  silentMs: number;
  /** Resolves when Temporal has accepted a sign of life; throws when the attempt is over. */
  alive(): Promise<void>;
  signal: AbortSignal;
}

const graceMs = 5_000;
/** Of what a program writes, so much is kept. */
const keptCharacters = 4_096;
/** What is still on its way when a program has ended. */
const restMs = 200;

/**
 * Runs a program without a shell, in a process group that does not outlive this process, the signal, or Temporal's trust
 * in the attempt. Returns when the whole group has ended. Throws the signal's reason, and what `alive` throws.
 */
export async function runProgram(command: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  const { cwd, env, silentMs, alive, signal } = options;
  signal.throwIfAborted();
  await alive();
  const args = ['-e', parent, '--', `${silentMs}`, `${graceMs}`, ...command];
  const child = spawn(process.execPath, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
  const [input, ...outputs] = child.stdio;
  const written = { output: '', report: '' };
  for (const [index, stream] of outputs.entries()) {
    const name = index === 2 ? 'report' : 'output';
    const keep = (text: string) => {
      // However much is written, only its end is kept.
      written[name] = (written[name] + text).slice(-keptCharacters);
    };
    (stream as Readable | null)
      ?.setEncoding('utf8')
      .on('data', keep)
      .on('error', () => {});
  }
  input?.on('error', () => {});
  const ended = new AbortController();
  const done = new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', () => resolve());
  }).finally(() => ended.abort());
  const stop = () => child.stdin?.end();
  signal.addEventListener('abort', stop, { once: true });
  let lost: unknown;
  const watching = keepAlive(options, ended.signal, () => child.stdin?.write('.')).catch((error: unknown) => {
    lost ??= error;
    stop();
  });
  try {
    await done;
    await watching;
    await sleep(restMs);
  } finally {
    signal.removeEventListener('abort', stop);
    // Its group is gone, unless someone else ended the parent alone.
    if (child.signalCode !== 'SIGKILL' || written.report === '') endGroup(child.pid);
    for (const stream of child.stdio) stream?.destroy();
  }
  signal.throwIfAborted();
  if (lost !== undefined) throw lost;
  const { code = null, signal: by = null, missing = null } = written.report === '' ? {} : JSON.parse(written.report);
  return { code, signal: by, missing, output: written.output };
}

/** Tells the parent of each sign of life that was accepted. */
async function keepAlive({ alive, silentMs }: ProgramOptions, ended: AbortSignal, tell: () => void): Promise<void> {
  const over = new Promise<void>((resolve) => ended.addEventListener('abort', () => resolve(), { once: true }));
  while (!ended.aborted) {
    tell();
    await Promise.race([sleep(silentMs / 8, undefined, { signal: ended }).catch(() => {}), over]);
    if (!ended.aborted) await Promise.race([alive(), over]);
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
}

interface ProgramPlace {
  /** Folder of the configuration: where the program runs, and what `./program` is relative to. */
  directory: string;
  /** Variables that the configuration refers to. */
  variables: readonly string[];
}

/** By this exit code (EX_DATAERR) a program says that the version is bad. */
const refusesVersion = 65;
const shortestSecret = 6;
const shownOutput = 200;

/** Runs the operator's program, without a shell and without the secrets of docferry.yaml. */
export class ProgramStep implements Step {
  readonly #config: ProgramConfig;
  readonly #place: ProgramPlace;

  constructor(config: ProgramConfig, place: ProgramPlace) {
    this.#config = config;
    this.#place = place;
  }

  /** Throws `VersionRefused` for exit code 65, `TargetRefused` for all other ends but 0, and the signal's reason. */
  async take(request: RolloutRequest): Promise<string> {
    const { command } = this.#config;
    if (!command.some((text) => text.includes('{site}'))) return this.#run(request, '');
    return withFiles(request, (folder) => this.#run(request, folder));
  }

  async #run({ domain, manifest, url, alive, guard, signal }: RolloutRequest, site: string): Promise<string> {
    const { directory, variables } = this.#place;
    const { version, archive } = manifest;
    const facts: Record<string, string> = { version, url, domain, digest: archive.sha256, site };
    const [program = '', ...args] = this.#config.command.map((text) =>
      text.replace(/\{(version|url|domain|digest|site)\}/g, (_, name: string) => facts[name] ?? ''),
    );
    const path = program.includes(sep) && !isAbsolute(program) ? resolve(directory, program) : program;
    const own = Object.entries(facts).filter(([, value]) => value !== '');
    const env = { ...process.env };
    for (const name of variables) delete env[name];
    Object.assign(env, Object.fromEntries(own.map(([name, value]) => [`DOCFERRY_${name.toUpperCase()}`, value])));
    await guard();
    const limit = AbortSignal.timeout(this.#config.timeoutMs);
    const ended = await runProgram([path, ...args], {
      cwd: directory,
      env,
      silentMs: programHeartbeatMs / 2,
      alive,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    }).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (!limit.aborted) throw error;
      throw new TargetRefused(`${program} was ended: it took longer than ${spanText(this.#config.timeoutMs)}`, true);
    });
    return this.#judge(program, ended);
  }

  #judge(program: string, { code, signal, missing, output }: ProgramEnd): string {
    if (missing !== null) {
      const fix = 'install it where the worker runs, or correct "run" of the site';
      throw new TargetRefused(`${program} cannot be started (${missing}): ${fix}`);
    }
    if (code === 0) return `${program} ended well`;
    const how = code === null ? `was ended by ${signal ?? 'a signal'}` : `ended with exit code ${code}`;
    const last = this.#lastLine(output);
    const message = `${program} ${how}${last === '' ? '' : `: ${last}`}`;
    if (code === refusesVersion) throw new VersionRefused(message);
    throw new TargetRefused(message, true);
  }

  /** The last line of a program's output, without what may be secret: it enters histories and messages (X1). */
  #lastLine(output: string): string {
    const isSecret = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;
    const hidden = Object.entries(process.env).flatMap(([name, value = '']) =>
      value.length >= shortestSecret && (this.#place.variables.includes(name) || isSecret.test(name)) ? [value] : [],
    );
    const line = output.trimEnd().split('\n').at(-1) ?? '';
    const shown = hidden
      .sort((a, b) => b.length - a.length)
      .reduce((text, value) => text.replaceAll(value, '…'), line)
      .replace(/\/\/[^\s/@]*@/g, '//…@')
      .replace(/\?\S*/g, '?…')
      .replace(/[^\P{C} ]/gu, '');
    return shown.length > shownOutput ? `…${shown.slice(-shownOutput)}` : shown;
  }
}
