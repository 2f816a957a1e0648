import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../../file-lock.ts';
import { StoreBusy } from './store-errors.ts';

const waitMs = 10_000;
const stepMs = 10;

/**
 * Runs `change` while nothing else, in this process or another, has the lock `file`. `change` is synchronous, so that
 * the lock is taken for a moment only. Throws `StoreBusy` after 10 s.
 */
export async function withStoreLock<T>(file: string, change: () => T): Promise<T> {
  const deadline = performance.now() + waitMs;
  let lock = tryLock(file);
  while (!lock) {
    if (performance.now() > deadline) throw new StoreBusy('the bundle store is locked by another process');
    await sleep(stepMs);
    lock = tryLock(file);
  }
  try {
    return change();
  } finally {
    lock.release();
  }
}
