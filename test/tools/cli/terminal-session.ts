import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { bin } from './run-docferry.ts';

/** Whether this machine has the `script` of util-linux, which gives a program a terminal. */
export const hasTerminals = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

interface TerminalOptions {
  cwd: string;
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

/** A shell command in a terminal of its own, into which a test types. Ends with the test. */
export class TerminalSession {
  readonly #child: ChildProcess;
  #said = '';
  #hasEnded = false;
  /** Called when there is more on the screen, or no more to come. */
  #onChange = () => {};

  constructor(command: string, { cwd, env = {}, columns = 80, rows = 24 }: TerminalOptions) {
    const sized = `stty rows ${rows} cols ${columns}; ${command}`;
    const args = ['--quiet', '--return', '--command', sized, '/dev/null'];
    this.#child = spawn('script', args, {
      cwd,
      // With a file for its history, a bash that is hung up would write it into the folder that the test is removing.
      env: { PATH: process.env.PATH ?? '', HOME: cwd, TERM: 'xterm', SHELL: '/bin/bash', HISTFILE: '', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
      this.#onChange();
    });
    this.#child.once('close', () => {
      this.#hasEnded = true;
      this.#onChange();
    });
    onTestFinished(async () => {
      this.#child.kill('SIGKILL');
      await this.ended();
    });
  }

  /** All that came to the screen, with its control sequences. */
  get said(): string {
    return this.#said;
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Waits until the screen has shown it; rejects with what it showed when the program ends before that. */
  async says(text: string | RegExp): Promise<void> {
    const isSaid = () => (typeof text === 'string' ? this.#said.includes(text) : text.test(this.#said));
    while (!isSaid()) {
      if (this.#hasEnded) throw new Error(`ended early:\n${this.#said}`);
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  /** The exit code of the command. */
  async ended(): Promise<number | null> {
    if (!this.#hasEnded) await once(this.#child, 'close');
    return this.#child.exitCode;
  }
}

/** The built command line as words of a shell. */
export function inShell(...args: readonly string[]): string {
  return [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
}
