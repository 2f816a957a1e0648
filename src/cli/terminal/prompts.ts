import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LiveView, type Output, operationFailure, usageFailure } from '../context.ts';

/** Where a person is asked. */
interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream;
}

/**
 * Returns once a person has said yes, with `--yes` at once. Throws a usage failure where no person can be asked, and the
 * failure `Declined` after any other answer, Ctrl-C and the end of the input included.
 */
export async function confirm(
  { text, declined }: { text: string; declined: string },
  yes: boolean,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  if (yes) return;
  if (input.isTTY !== true) throw usageFailure('this needs --yes: there is no terminal to ask on');
  if (!(await answersYes(text, { input, output }))) throw operationFailure('Declined', declined);
}

function answersYes(question: string, { input, output }: Terminal): Promise<boolean> {
  const lines = createInterface({ input, output });
  return new Promise((resolve) => {
    lines.once('close', () => resolve(false));
    lines.question(`${question} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      lines.close();
    });
  });
}

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

export interface Interrupt {
  signal: AbortSignal;
  /** Restores the default handling of the signals. */
  dispose(): void;
}

/** Turns the first SIGINT or SIGTERM into an aborted signal; the second ends the process at once, as shells expect. */
export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  const listen = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143);
    controller.abort();
  };
  for (const name of stopSignals) process.on(name, listen);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const name of stopSignals) process.off(name, listen);
    },
  };
}

/**
 * Starts a run for which a command may wait then. What has started needs its audit entry, so the first Ctrl-C lets the
 * start finish, and says so at once; under `wait` the waiting then ends with it. Dispose of the interrupt.
 */
export async function startInterruptibly<Started>(
  { note }: { note: (text: string) => void },
  start: () => Promise<Started>,
): Promise<{ started: Started; interrupt: Interrupt }> {
  const interrupt = onInterrupt();
  const say = () => note('interrupted: finishing the start; press Ctrl-C again to stop now');
  interrupt.signal.addEventListener('abort', say);
  try {
    return { started: await start(), interrupt };
  } catch (error) {
    interrupt.dispose();
    throw error;
  } finally {
    interrupt.signal.removeEventListener('abort', say);
  }
}

/** Looks again and again until Ctrl-C or the end of the time, shows each look, and returns the last one. */
export async function watching<Look>(
  output: Pick<Output, 'showing'>,
  { everyMs, forMs = Number.POSITIVE_INFINITY }: { everyMs: number; forMs?: number | undefined },
  look: (live: LiveView) => Promise<Look>,
): Promise<Look> {
  const { signal, dispose } = onInterrupt();
  const endsAt = Date.now() + forMs;
  const looks = output.showing(async (live) => {
    for (;;) {
      const found = await look(live);
      if (Date.now() + everyMs > endsAt) return found;
      await sleep(everyMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return found;
    }
  });
  return looks.finally(dispose);
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Runs work that looks at the signal. Throws the failure `Interrupted`, which `what` ends, after Ctrl-C or SIGTERM. */
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
