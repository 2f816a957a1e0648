import { resolve } from 'node:path';
import type { CommandContext } from '../context.ts';
import { operationFailure } from '../cli-failure.ts';
import type { Output } from './output.ts';
import { replaceOutput } from './replace-output.ts';
import { onInterrupt } from './signals.ts';

type Chunks = AsyncIterable<string | Uint8Array>;

/** The value of `--out` that means stdout. */
export const stdoutName = '-';

/**
 * Writes a command's product, which may hold personal data, to the file that `--out` names, or to stdout. A Ctrl-C leaves the file as it was, with
 * nothing beside it, and is a failure. Returns the bytes written; null when the reader of stdout has closed the pipe, as
 * `| head` does, which ends the command quietly.
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
      if (interrupt.signal.aborted) throw operationFailure('Interrupted', `interrupted; ${path} is unchanged`);
      yield chunk;
    }
  };
  try {
    return await replaceOutput('--out', path, watched(), { isPrivate: true });
  } finally {
    interrupt.dispose();
  }
}
