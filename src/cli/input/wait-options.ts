import { usageFailure } from '../failures/cli-failure.ts';
import { durationFlag } from './duration-flag.ts';

/** The flags of commands that can wait for their workflow. */
export interface WaitFlags {
  wait?: boolean;
  timeout?: string;
}

/** Milliseconds of `--timeout`, null without one. Throws a usage failure. */
export function waitTimeout({ wait, timeout }: WaitFlags): number | null {
  if (timeout !== undefined && !wait) throw usageFailure('--timeout limits the waiting and needs --wait');
  const ms = durationFlag('--timeout', timeout);
  return ms && Math.min(ms, longestTimerMs);
}

/** Timers of Node hold no more, some 24 days. */
const longestTimerMs = 2 ** 31 - 1;
