import { stat } from 'node:fs/promises';
import type { VerificationOptions, VerificationReport } from './verify-archive.ts';

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
    const { verifyArchive } = await import('./verify-archive.ts');
    return verifyArchive(file, options);
  }
  options.signal?.throwIfAborted();
  await stat(file);
  const { readInThread } = await import('./verification-threads.ts');
  const { signal: _signal, onProgress: _onProgress, ...cloneable } = options;
  return readInThread({ file, options: cloneable, heapMb }, options);
}
