import { resolve } from 'node:path';
import type { CommandContext } from '../context.ts';
import { CliFailure } from '../failures/cli-failure.ts';
import { exitCodes } from '../failures/exit-codes.ts';
import type { Output } from './output.ts';
import { replaceOutput } from './replace-output.ts';
import { onInterrupt } from './signals.ts';

type Chunks = AsyncIterable<string | Uint8Array>;

/** What `--out` names when it is no file. */
export const stdoutName = '-';

/**
 * Writes what a command makes to the file that `--out` names, or to stdout. A Ctrl-C leaves a file as it was, with
 * nothing beside it, and is a failure. Returns the bytes written; null when nobody reads stdout any more, as with
 * `| head`, which is a quiet end.
 */
export async function writeOut({ cwd, output }: CommandContext, out: string, chunks: Chunks): Promise<number | null> {
  return out === stdoutName ? writeToStdout(output, chunks) : writeToFile(resolve(cwd, out), chunks);
}

async function writeToStdout(output: Output, chunks: Chunks): Promise<number | null> {
  let bytes = 0;
  for await (const chunk of chunks) {
    if (!(await output.data(chunk))) return null;
    bytes += Buffer.byteLength(chunk);
  }
  return bytes;
}

async function writeToFile(path: string, chunks: Chunks): Promise<number> {
  const interrupt = onInterrupt();
  const watched = async function* () {
    for await (const chunk of chunks) {
      if (interrupt.signal.aborted) throw interrupted(path);
      yield chunk;
    }
  };
  try {
    return await replaceOutput('--out', path, watched());
  } finally {
    interrupt.dispose();
  }
}

function interrupted(path: string): CliFailure {
  const message = `stopped before the end; ${path} is as it was`;
  return new CliFailure({ code: 'Interrupted', message, hint: null, exitCode: exitCodes.failed });
}
