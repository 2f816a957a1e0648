import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const bin = resolve('dist/src/starter.js');

/** A built `docferry`, or another program of the build, as a process of its own. */
export class DocferryProcess {
  readonly child: ChildProcess;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv; program?: string }) {
    this.child = spawn(process.execPath, [options.program ?? bin, ...args], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk) => {
      this.#stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk) => {
      this.#stderr += chunk;
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** Everything it has said. */
  get output(): string {
    return this.#stdout + this.#stderr;
  }

  /** Waits until stdout holds `text`; rejects with what it said when it ends before that. */
  async says(text: string): Promise<void> {
    const { child } = this;
    while (!this.#stdout.includes(text)) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`ended early:\n${this.output}`);
      await Promise.race([once(child.stdout ?? child, 'data'), once(child, 'exit')]);
    }
  }

  /** The exit code once it has ended. */
  async ended(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
    return this.child.exitCode;
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    this.child.kill(signal);
    await this.ended();
  }
}
