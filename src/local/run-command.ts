import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { errorCode } from '../error-code.ts';
import { neededVariables } from './needed-variables.ts';

export interface CommandOptions {
  /** The command gets what it needs of it (`neededVariables`); its PATH is also where the command is looked for. */
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Ends the command; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  onLine?: (line: string) => void;
}

const keptLines = 20;

/**
 * Runs a command to its end and returns the last lines it printed on either stream. Rejects with one readable line when
 * the command cannot be started, ends with a code other than 0, or is ended by `signal`.
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<readonly string[]> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: neededVariables(options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (line.trim() === '') return;
      lines.push(line);
      if (lines.length > keptLines) lines.shift();
      options.onLine?.(line);
    });
  }
  let stop = () => {};
  try {
    const ending = await new Promise<string | number>((resolve, reject) => {
      stop = () => {
        child.kill('SIGKILL');
        child.stdout.destroy();
        child.stderr.destroy();
        reject(options.signal?.reason);
      };
      options.signal?.addEventListener('abort', stop, { once: true });
      if (options.signal?.aborted) stop();
      child.on('error', (error) =>
        reject(errorCode(error) === 'ENOENT' ? new Error(`no program \`${command}\` was found`) : error),
      );
      child.on('close', (code, signal) => resolve(code ?? signal ?? 'an unknown end'));
    });
    if (ending !== 0) throw new Error(`${command} ended with ${ending}: ${lines.slice(-3).join(' / ') || 'no output'}`);
    return lines;
  } finally {
    options.signal?.removeEventListener('abort', stop);
  }
}

/** A signal that aborts after `ms` milliseconds with a readable reason. */
export function timeLimit(ms: number): AbortSignal {
  const controller = new AbortController();
  const seconds = Math.round(ms / 1000);
  setTimeout(() => controller.abort(new Error(`did not end within ${seconds} s`)), ms).unref();
  return controller.signal;
}
