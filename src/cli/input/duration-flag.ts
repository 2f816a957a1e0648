import { parseDuration } from '../../config/durations.ts';
import { usageFailure } from '../failures/cli-failure.ts';

/** Milliseconds of a flag that holds a duration; null without it. Throws a usage failure. */
export function durationFlag(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms !== null && ms > 0) return ms;
  throw usageFailure(`${flag} held ${JSON.stringify(text)}: it must be a duration like 90s, 30m or 2h`);
}
