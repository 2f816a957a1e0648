import { z } from 'zod/mini';
import type { ExportOutcome } from '../../exports/rules/site-export.ts';
import { own, reader, text } from '../../rules/messages.ts';
import type { ScheduleTarget } from '../../rules/workflow-ids.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';
import type { Calendar, ScheduleSettings, ValueRange } from './schedule-settings.ts';

const minuteMs = 60_000;
/** Clock changes happen at full quarters of an hour of UTC. */
const blockMs = 15 * minuteMs;

/**
 * The starts of a schedule from `fromMs` (inclusive) to `toMs` (exclusive), in milliseconds since the epoch, in order and
 * without jitter. As on the server, intervals count from the epoch; a time skipped by the clock is left out, one shown
 * twice counts once (docs/decisions/0005).
 */
export function scheduledStarts(
  { intervals, calendars, timezone }: Pick<ScheduleSettings, 'intervals' | 'calendars' | 'timezone'>,
  fromMs: number,
  toMs: number,
): number[] {
  const starts = intervals.flatMap(({ everyMs, offsetMs }) => intervalStarts(everyMs, offsetMs, fromMs, toMs));
  for (const calendar of calendars) starts.push(...calendarStarts(calendar, timezone, fromMs, toMs));
  return calendars.length === 0 ? starts : [...new Set(starts)].sort((a, b) => a - b);
}

function intervalStarts(everyMs: number, offsetMs: number, fromMs: number, toMs: number): number[] {
  const first = fromMs + ((((offsetMs - fromMs) % everyMs) + everyMs) % everyMs);
  return Array.from({ length: Math.max(0, Math.ceil((toMs - first) / everyMs)) }, (_, n) => first + n * everyMs);
}

function calendarStarts(calendar: Calendar, timezone: string, fromMs: number, toMs: number): number[] {
  const offsetAt = zoneOffset(timezone);
  const taken = new Set<number>();
  const starts: number[] = [];
  for (let block = Math.floor(fromMs / blockMs) * blockMs; block < toMs; block += blockMs) {
    const offset = offsetAt(block);
    for (let at = block; at < block + blockMs; at += minuteMs) {
      const shown = at + offset;
      if (at < fromMs || at >= toMs || taken.has(shown) || !matches(calendar, new Date(shown))) continue;
      taken.add(shown);
      starts.push(at);
    }
  }
  return starts;
}

/** Whether the calendar matches a clock's reading, given in the UTC fields of `shown`. */
function matches({ minute, hour, dayOfMonth, month, dayOfWeek }: Calendar, shown: Date): boolean {
  return (
    includes(minute, shown.getUTCMinutes()) &&
    includes(hour, shown.getUTCHours()) &&
    includes(dayOfMonth, shown.getUTCDate()) &&
    includes(month, shown.getUTCMonth() + 1) &&
    includes(dayOfWeek, shown.getUTCDay())
  );
}

function includes(ranges: readonly ValueRange[], value: number): boolean {
  return ranges.some(({ start, end, step }) => value >= start && value <= end && (value - start) % step === 0);
}

/** Offset of a time zone from UTC at a moment, in milliseconds. An empty name means UTC. */
function zoneOffset(timezone: string): (ms: number) => number {
  if (timezone === '' || timezone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
    return shown - Math.floor(ms / minuteMs) * minuteMs;
  };
}

/** Input of `runScheduled`: what it starts, and the failover of all that. */
export type ScheduledInput = Extract<ScheduleTarget, { kind: 'export' }> & WithFailover;

const failover = own<WithFailover['failover']>();

/** Shape of the input (X5): a person may have edited the schedule. */
export const readScheduledInput = reader<ScheduledInput>(
  z.object({ kind: z.literal('export'), org: text(), domain: text(), failover }),
);

/** Result of `runScheduled` (architecture.md). */
export interface ScheduledResult {
  /** The workflow that does the work, under its fixed id. */
  workflowId: string;
  /** Its first run; null when it was already running. */
  runId: string | null;
  /** `skipped`: a person had started the workflow already; `cancelled`: a person cancelled it; else its outcome. */
  outcome: 'skipped' | 'cancelled' | 'completed' | ExportOutcome;
  /** The version, counts, or the reason. */
  detail: string;
}
