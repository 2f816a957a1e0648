import { parseDuration } from '../config/durations.ts';
import { usageFailure } from './cli-failure.ts';

/** The flags of commands that can wait for their workflow. */
export interface WaitFlags {
  wait?: boolean;
  timeout?: string;
}

/** Milliseconds of `--timeout`, null without one. Throws a usage failure. */
export function waitTimeout({ wait, timeout }: WaitFlags): number | null {
  if (timeout === undefined) return null;
  if (!wait) throw usageFailure('--timeout limits the waiting and needs --wait');
  const ms = parseDuration(timeout);
  if (ms !== null && ms > 0) return Math.min(ms, longestTimerMs);
  throw usageFailure(`--timeout held ${JSON.stringify(timeout)}: it must be a duration like 90s, 30m or 2h`);
}

/** Timers of Node hold no more, some 24 days. */
const longestTimerMs = 2 ** 31 - 1;
