import { availableParallelism } from 'node:os';
import { parentPort, resourceLimits, Worker } from 'node:worker_threads';
import type { ByteSpan } from '../../files.ts';
import { type ByteFile, withByteFile } from '../archive/archive-reader.ts';
import { splitPoint } from '../archive/read-zip.ts';
import type { ArchiveFormat } from '../rules/site-export.ts';
import type { VerificationOptions, VerificationProgress, VerificationReport } from './verify-archive.ts';
import { type PartResult, readPart, verifyBytes } from './verify-archive.ts';

export interface ThreadInput {
  file: string;
  options: Omit<VerificationOptions, 'signal' | 'onProgress'>;
  /** Heap limit of the thread, and of a second one that it may start. */
  heapMb: number;
  /** Reads only this part of a zip. */
  part?: ByteSpan;
}

export type ThreadMessage =
  | { progress: VerificationProgress }
  | { report: VerificationReport }
  | { part: PartResult }
  | { systemError: { message: string; code: string | undefined } };

/** Smaller archives are read before a second thread could start. */
const twoThreadsFromBytes = 32 * 1024 ** 2;

/** The second thread, once an archive has needed one; kept with this one. */
let helper: Worker | null = null;

// Entry point of the threads of `readInThread`; each reads one archive, or one part of a zip, at a time.
const send = (message: ThreadMessage) => parentPort?.postMessage(message);

parentPort?.on('message', async (input: ThreadInput) => {
  try {
    await withByteFile(input.file, async (file) => {
      const options = { ...input.options, onProgress: (progress: VerificationProgress) => send({ progress }) };
      if (input.part) send({ part: await readPart(file, 'zip', options, input.part) });
      else send({ report: await verifyBytes(file, options, (...reading) => readParts(input, ...reading)) });
    });
  } catch (error) {
    // It may still be reading.
    await helper?.terminate();
    helper = null;
    // Any other failure ends this thread, which the one that started it notices.
    if (!isSystemError(error)) throw error;
    send({ systemError: { message: error.message, code: error.code } });
  }
});

/** Two threads can share a zip, whose entries can be read in any order; a tar takes one thread. */
async function readParts(
  input: ThreadInput,
  file: ByteFile,
  format: ArchiveFormat,
  options: VerificationOptions,
): Promise<[PartResult, ...PartResult[]]> {
  if (format !== 'zip' || file.size < twoThreadsFromBytes || availableParallelism() < 2) {
    return [await readPart(file, format, options)];
  }
  const middle = await splitPoint(file);
  let other: VerificationProgress = { files: 0, bytes: 0 };
  const second = readBeside({ ...input, part: { start: middle, end: file.size } }, (progress) => {
    other = progress;
  });
  // Awaited after this thread's part; until then a rejection must not count as unhandled.
  second.catch(() => undefined);
  const onProgress = ({ files, bytes }: VerificationProgress) =>
    options.onProgress?.({ files: files + other.files, bytes: bytes + other.bytes });
  return [await readPart(file, format, { ...options, onProgress }, { start: 0, end: middle }), await second];
}

function readBeside(input: ThreadInput, onProgress: (progress: VerificationProgress) => void): Promise<PartResult> {
  helper ??= new Worker(new URL(import.meta.url), { resourceLimits });
  const worker = helper;
  worker.removeAllListeners();
  return new Promise((resolve, reject) => {
    worker.on('message', (message: ThreadMessage) => {
      if ('part' in message) resolve(message.part);
      else if ('progress' in message) onProgress(message.progress);
      else if ('systemError' in message) reject(systemErrorOf(message.systemError));
    });
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the second verification thread ended without a result')));
    worker.postMessage(input);
  });
}

/** Rebuilds a system error that the other thread threw. */
function systemErrorOf({ message, code }: { message: string; code: string | undefined }): Error {
  return Object.assign(new Error(message), { code, syscall: 'read' });
}

/** True for errors of the operating system, which say nothing about the archive. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
