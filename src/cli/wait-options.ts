import type { Command } from 'commander';
import { usageFailure } from './cli-failure.ts';
import { duration } from './flag-values.ts';

/** The flags of commands that can wait for their workflow. */
export interface WaitFlags {
  wait?: boolean;
  /** Milliseconds. */
  timeout?: number;
}

export function addWaitFlags(command: Command): Command {
  return command
    .option('--wait', 'wait for the end and show progress; Ctrl-C only stops the waiting')
    .option('--timeout <duration>', 'wait no longer than this, e.g. 30m (then exit code 5)', duration('--timeout'));
}

/** Node's timers hold no more, about 24 days. */
const longestTimerMs = 2 ** 31 - 1;

/** Milliseconds of `--timeout`, null without one. Throws a usage failure. */
export function waitTimeout({ wait, timeout }: WaitFlags): number | null {
  if (timeout === undefined) return null;
  if (!wait) throw usageFailure('--timeout limits the waiting and needs --wait');
  return Math.min(timeout, longestTimerMs);
}
