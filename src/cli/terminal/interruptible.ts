import { operationFailure } from '../cli-failure.ts';
import { onInterrupt } from './signals.ts';

/**
 * Runs work that looks at the signal between its steps, and cleans up itself. Throws the failure `Interrupted` when it
 * ended because of Ctrl-C or SIGTERM; `what` says how things are then.
 */
export async function interruptible<Result>(
  what: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const interrupt = onInterrupt();
  try {
    return await work(interrupt.signal);
  } catch (error) {
    throw interrupt.signal.aborted ? operationFailure('Interrupted', `interrupted: ${what}`) : error;
  } finally {
    interrupt.dispose();
  }
}
