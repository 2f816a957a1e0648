import { parentPort, workerData } from 'node:worker_threads';
import { isSystemError } from './readers/archive-reader.ts';
import { verifyArchive } from './verify-archive.ts';
import type { ThreadInput, ThreadMessage } from './verify-in-thread.ts';

// Entry of the worker thread that `verifyInThread` starts: one archive, then it ends.
const { file, options }: ThreadInput = workerData;
const send = (message: ThreadMessage) => parentPort?.postMessage(message);

try {
  const report = await verifyArchive(file, { ...options, onProgress: (progress) => send({ progress }) });
  send({ report });
} catch (error) {
  if (!isSystemError(error)) throw error;
  send({ systemError: { message: error.message, code: error.code } });
}
