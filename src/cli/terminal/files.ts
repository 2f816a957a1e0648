import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { replaceFile, rewriteFile } from '../../files.ts';
import { type CommandContext, type Output, operationFailure, usageFailure } from '../context.ts';
import { onInterrupt } from './prompts.ts';

type Chunks = AsyncIterable<string | Uint8Array>;

/**
 * Writes the file that `flag` names, whole or not at all. An existing file keeps its permissions, its owner and its
 * place behind a symbolic link; only this user can read a new private file. Text is written as UTF-8. Returns the bytes
 * written. Throws a usage failure where no file can be.
 */
export async function replaceOutput(
  flag: string,
  path: string,
  content: string | Chunks,
  { isPrivate = false } = {},
): Promise<number> {
  const found = await stat(path).catch(ignoreMissing);
  if (found === null) {
    const folder = await stat(dirname(resolve(path))).catch(ignoreMissing);
    if (folder?.isDirectory()) return replaceFile(path, content, isPrivate ? { mode: 0o600 } : undefined);
    throw usageFailure(`${flag} names ${path}: there is no folder ${dirname(path)}`, 'create the folder first');
  }
  if (found.isDirectory()) throw usageFailure(`${flag} names ${path}: it is a folder`, 'name a file');
  // A device or pipe must never be replaced by a file.
  if (!found.isFile()) throw usageFailure(`${flag} names ${path}: it is not a regular file`, 'write to stdout with -');
  return rewriteFile(path, content);
}

function ignoreMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}

/** The value of `--out` that means stdout. */
export const stdoutName = '-';

/** Whether `--out` means stdout. Throws a usage failure where `--json` wants it too. */
export function isToStdout(out: string, { json }: Output): boolean {
  if (out === stdoutName && json)
    throw usageFailure('--out - and --json would both write to stdout', 'name a file with --out');
  return out === stdoutName;
}

/** Says what was written: the result, unless the product itself went to stdout. */
export function reportOut(output: Output, out: string, document: object, summary: string): void {
  if (out === stdoutName) output.note(summary);
  else output.result(document, summary);
}

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
