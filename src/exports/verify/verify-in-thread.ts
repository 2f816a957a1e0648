import { stat } from 'node:fs/promises';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { verificationSlots } from '../semaphore.ts';
import type { ThreadInput, ThreadMessage } from './verification-thread.ts';
import {
  defaultTimeLimitMs,
  refusedReport,
  type VerificationOptions,
  type VerificationReport,
  verifyArchive,
} from './verify-archive.ts';

/** Enough for several hundred thousand files; a thread that needs more is ended, and the process lives on. */
const defaultHeapMb = 1024;

/**
 * `verifyArchive` in a worker thread, so that the caller's event loop (heartbeats) keeps running; waits while this
 * process verifies as many archives as it may (`limitMachineUse`). Aborting kills the thread. Run from TypeScript
 * sources (tests), it works in the caller's thread, because Node 20 cannot load TypeScript into a worker.
 */
export async function verifyInThread(
  file: string,
  options: VerificationOptions,
  heapMb = defaultHeapMb,
): Promise<VerificationReport> {
  if (import.meta.url.endsWith('.ts')) {
    return verifyArchive(file, options);
  }
  options.signal?.throwIfAborted();
  await stat(file);
  const { signal: _signal, onProgress: _onProgress, ...cloneable } = options;
  return readInThread({ file, options: cloneable, heapMb }, options);
}

/** After the time limit, how long the thread has to report it itself. */
const graceMs = 5_000;
/** A thread without work ends after this, and gives back what memory it had grown to. */
const idleMs = 60_000;
/**
 * Checking only the structure allocates little but contents, which lie outside the heap. A small young generation frees
 * them early; otherwise the engine marks the whole heap over and over.
 */
const youngMbForStructure = 4;

interface IdleThread {
  worker: Worker;
  limits: string;
  timer: NodeJS.Timeout;
}

/** What a thread says of an archive, and whether it can read another one. */
interface Answer {
  alive: boolean;
  report?: VerificationReport;
  error?: unknown;
}

/** Threads without work, the one that worked last at the end. */
const idle: IdleThread[] = [];

/**
 * Verifies an archive in a thread, once one of this process's few is free. Threads are kept for the next archive, except
 * one that was aborted or has failed: that concerns its own archive only.
 */
async function readInThread(input: ThreadInput, options: VerificationOptions): Promise<VerificationReport> {
  return verificationSlots.use(options.signal, async () => {
    const limits = limitsOf(input);
    const key = JSON.stringify(limits);
    const worker =
      takeIdle(key) ?? new Worker(new URL('./verification-thread.js', import.meta.url), { resourceLimits: limits });
    worker.ref();
    const { alive, report, error } = await answerOf(worker, input, options);
    if (alive) keep(worker, key);
    else await worker.terminate();
    if (report) return report;
    throw error;
  });
}

/** Limits of a thread that reads such an archive, or a part of it. */
function limitsOf({ heapMb, options }: ThreadInput): ResourceLimits {
  const young = options.structureOnly ? { maxYoungGenerationSizeMb: youngMbForStructure } : {};
  return { maxOldGenerationSizeMb: heapMb, ...young };
}

function takeIdle(limits: string): Worker | null {
  const found = idle.findLastIndex((thread) => thread.limits === limits);
  // One of other limits gives way, so that there are never more threads than slots.
  const [thread] = idle.splice(found === -1 ? 0 : found, 1);
  if (!thread) return null;
  clearTimeout(thread.timer);
  if (thread.limits === limits) return thread.worker;
  void thread.worker.terminate();
  return null;
}

function keep(worker: Worker, limits: string): void {
  const end = () => {
    const at = idle.findIndex((thread) => thread.worker === worker);
    if (at !== -1) idle.splice(at, 1);
    void worker.terminate();
  };
  // It must not keep the process alive.
  worker.unref();
  // Whatever happens to a thread without work concerns no archive.
  worker.once('error', end);
  idle.push({ worker, limits, timer: setTimeout(end, idleMs).unref() });
}

function answerOf(worker: Worker, input: ThreadInput, options: VerificationOptions): Promise<Answer> {
  const { signal, onProgress, timeLimitMs = defaultTimeLimitMs } = options;
  return new Promise((resolve) => {
    const end = (answer: Answer) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      worker.removeAllListeners();
      resolve(answer);
    };
    const refuse = (rule: string, detail: string) =>
      end({ alive: false, report: refusedReport(null, [{ rule, path: null, detail }]) });
    const timer = setTimeout(refuse, timeLimitMs + graceMs, 'time-limit', 'reading the archive took too long');
    const abort = () => end({ alive: false, error: signal?.reason });
    signal?.addEventListener('abort', abort, { once: true });
    worker.removeAllListeners();
    worker.on('message', (message: ThreadMessage) => {
      if ('progress' in message) onProgress?.(message.progress);
      else if ('report' in message) end({ alive: true, report: message.report });
      else if ('systemError' in message) {
        const { message: text, code } = message.systemError;
        end({ alive: true, error: Object.assign(new Error(text), { code }) });
      }
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') refuse('memory-limit', 'reading the archive took too much memory');
      else end({ alive: false, error });
    });
    worker.on('exit', () => end({ alive: false, error: new Error('the verification thread ended without a report') }));
    worker.postMessage(input);
    if (signal?.aborted) abort();
  });
}
