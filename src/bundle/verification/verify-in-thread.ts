import { stat } from 'node:fs/promises';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { ByteRange } from '../archive/archive-reader.ts';
import type { VerificationOptions, VerificationProgress } from './verification-options.ts';
import type { PartResult } from './verification-part.ts';
import { defaultTimeLimitMs, refusedReport, type VerificationReport } from './verification-report.ts';

/** After the time limit, how long the thread has to report it itself. */
const graceMs = 5_000;
/** Enough for several hundred thousand files; a thread that needs more is ended, and the process lives on. */
const defaultHeapMb = 1024;
/**
 * Checking only the structure allocates little but contents, which lie outside the heap. A small young generation frees
 * them early; otherwise the engine marks the whole heap over and over.
 */
const youngMbForStructure = 4;

export interface ThreadInput {
  file: string;
  options: Omit<VerificationOptions, 'signal' | 'onProgress'>;
  /** Heap limit of the thread, and of a second one that it may start. */
  heapMb: number;
  /** Reads only this part of a zip. */
  part?: ByteRange;
}

export type ThreadMessage =
  | { progress: VerificationProgress }
  | { report: VerificationReport }
  | { part: PartResult }
  | { systemError: { message: string; code: string | undefined } };

/**
 * `verifyArchive` in a worker thread, so that the caller's event loop (heartbeats) goes on; aborting kills the thread.
 * Run from TypeScript sources (tests), it works in this thread, as Node 20 cannot load TypeScript into a worker.
 */
export async function verifyInThread(
  file: string,
  options: VerificationOptions,
  heapMb = defaultHeapMb,
): Promise<VerificationReport> {
  if (import.meta.url.endsWith('.ts')) {
    const { verifyArchive } = await import('./verify-archive.ts');
    return verifyArchive(file, options);
  }
  options.signal?.throwIfAborted();
  await stat(file);
  const { signal, onProgress, ...cloneable } = options;
  const input: ThreadInput = { file, options: cloneable, heapMb };
  const worker = new Worker(new URL('./verification-thread.js', import.meta.url), {
    workerData: input,
    resourceLimits: limitsOf(input),
  });
  try {
    return await outcome(worker, options);
  } finally {
    await worker.terminate();
  }
}

/** Limits of a thread that reads an archive, or a part of one. */
export function limitsOf({ heapMb, options }: ThreadInput): ResourceLimits {
  const young = options.structureOnly ? { maxYoungGenerationSizeMb: youngMbForStructure } : {};
  return { maxOldGenerationSizeMb: heapMb, ...young };
}

function outcome(worker: Worker, options: VerificationOptions): Promise<VerificationReport> {
  const { signal, onProgress, timeLimitMs = defaultTimeLimitMs } = options;
  return new Promise((resolve, reject) => {
    const refuse = (rule: string, detail: string) => resolve(refusedReport(null, [{ rule, path: null, detail }]));
    const timer = setTimeout(refuse, timeLimitMs + graceMs, 'time-limit', 'reading the archive took too long');
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    worker.on('message', (message: ThreadMessage) => {
      if ('progress' in message) onProgress?.(message.progress);
      else if ('report' in message) resolve(message.report);
      else if ('systemError' in message) {
        reject(Object.assign(new Error(message.systemError.message), { code: message.systemError.code }));
      }
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') refuse('memory-limit', 'reading the archive took too much memory');
      else reject(error);
    });
    worker.on('exit', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      reject(new Error('the verification thread ended without a report'));
    });
  });
}
