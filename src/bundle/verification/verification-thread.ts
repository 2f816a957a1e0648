import { availableParallelism } from 'node:os';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { ArchiveFormat } from '../../model/export/archive-facts.ts';
import type { ByteRange } from '../archive/archive-reader.ts';
import { type ByteFile, withByteFile } from '../archive/byte-file.ts';
import { zipMiddle } from '../archive/zip/zip-middle.ts';
import type { VerificationOptions, VerificationProgress } from './verification-options.ts';
import { type PartResult, readPart } from './verification-part.ts';
import { verifyBytes } from './verify-archive.ts';
import { limitsOf, type ThreadInput, type ThreadMessage } from './verify-in-thread.ts';

/** Smaller archives are read before a second thread could start. */
const twoThreadsFromBytes = 32 * 1024 ** 2;

// Entry point of the threads that `verifyInThread` starts; each reads one archive or one part of a zip.
const input: ThreadInput = workerData;
const send = (message: ThreadMessage) => parentPort?.postMessage(message);

try {
  await withByteFile(input.file, async (file) => {
    const options = { ...input.options, onProgress: (progress: VerificationProgress) => send({ progress }) };
    if (input.part) send({ part: await readPart(file, 'zip', options, input.part) });
    else send({ report: await verifyBytes(file, options, readParts) });
  });
} catch (error) {
  if (!isSystemError(error)) throw error;
  send({ systemError: { message: error.message, code: error.code } });
}

/** Two threads can share a zip, whose entries can be read in any order; a tar takes one thread. */
async function readParts(
  file: ByteFile,
  format: ArchiveFormat,
  options: VerificationOptions,
): Promise<[PartResult, ...PartResult[]]> {
  if (format !== 'zip' || file.size < twoThreadsFromBytes || availableParallelism() < 2) {
    return [await readPart(file, format, options)];
  }
  const middle = await zipMiddle(file);
  let other: VerificationProgress = { files: 0, bytes: 0 };
  const second = readInThread({ start: middle, end: file.size }, (progress) => {
    other = progress;
  });
  // Awaited after this thread's part; until then a rejection must not count as unhandled.
  second.catch(() => undefined);
  const onProgress = ({ files, bytes }: VerificationProgress) =>
    options.onProgress?.({ files: files + other.files, bytes: bytes + other.bytes });
  return [await readPart(file, format, { ...options, onProgress }, { start: 0, end: middle }), await second];
}

function readInThread(part: ByteRange, onProgress: (progress: VerificationProgress) => void): Promise<PartResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { ...input, part },
      resourceLimits: limitsOf(input),
    });
    worker.on('message', (message: ThreadMessage) => {
      if ('part' in message) resolve(message.part);
      else if ('progress' in message) onProgress(message.progress);
      else if ('systemError' in message) reject(systemErrorOf(message.systemError));
    });
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the second verification thread ended without a result')));
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
