import { isAbsolute, resolve, sep } from 'node:path';
import type { ProgramConfig } from '../../config/config.ts';
import { spanText } from '../../rules/text.ts';
import { programHeartbeatMs } from '../rules/rollout-steps.ts';
import { type RolloutRequest, type Step, TargetRefused, VersionRefused, withFiles } from './rollout-target.ts';
import { type ProgramEnd, runProgram } from './watched-program.ts';

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
