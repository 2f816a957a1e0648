import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parentPort, type ResourceLimits, resourceLimits, Worker, workerData } from 'node:worker_threads';
import type { ByteSpan } from '../../files.ts';
import { type ByteFile, withByteFile } from '../archive/archive-reader.ts';
import { splitPoint } from '../archive/read-zip.ts';
import type { ArchiveFormat } from '../rules/site-export.ts';
import { verificationSlots } from '../semaphore.ts';
import {
  defaultTimeLimitMs,
  type PartResult,
  readPart,
  refusedReport,
  type VerificationOptions,
  type VerificationProgress,
  type VerificationReport,
  verifyArchive,
  verifyBytes,
} from './verify-archive.ts';

interface ThreadInput {
  file: string;
  options: Omit<VerificationOptions, 'signal' | 'onProgress'>;
  /** Heap limit of the thread, and of a second one that it may start. */
  heapMb: number;
  /** Reads only this part of a zip. */
  part?: ByteSpan;
}

type ThreadMessage =
  | { progress: VerificationProgress }
  | { report: VerificationReport }
  | { part: PartResult }
  | { systemError: { message: string; code: string | undefined } };

/** Marks this module's threads: other threads of the process may load it too. */
const threadMark = 'docferry verifies';

const newThread = (limits: ResourceLimits): Worker =>
  new Worker(new URL(import.meta.url), { resourceLimits: limits, workerData: threadMark });

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
/** Contents lie outside the heap: with a large young generation the engine would mark the heap over and over. */
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

/** Verifies an archive once one of the few threads is free; a thread that failed is not kept. */
async function readInThread(input: ThreadInput, options: VerificationOptions): Promise<VerificationReport> {
  return verificationSlots.use(options.signal, async () => {
    const young = options.structureOnly ? { maxYoungGenerationSizeMb: youngMbForStructure } : {};
    const limits: ResourceLimits = { maxOldGenerationSizeMb: input.heapMb, ...young };
    const key = JSON.stringify(limits);
    const worker = takeIdle(key) ?? newThread(limits);
    worker.ref();
    const { alive, report, error } = await answerOf(worker, input, options);
    if (alive) keep(worker, key);
    else await worker.terminate();
    if (report) return report;
    throw error;
  });
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
      else if ('systemError' in message) end({ alive: true, error: systemErrorOf(message.systemError) });
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

/** Smaller archives are read before a second thread could start. */
const twoThreadsFromBytes = 32 * 1024 ** 2;

/** The second thread, once an archive has needed one; kept with this one. */
let helper: Worker | null = null;

const send = (message: ThreadMessage) => parentPort?.postMessage(message);

// A thread reads one archive, or one part of a zip, at a time.
if (workerData === threadMark) parentPort?.on('message', readHere);

async function readHere(input: ThreadInput): Promise<void> {
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
}

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
  helper ??= newThread(resourceLimits);
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
