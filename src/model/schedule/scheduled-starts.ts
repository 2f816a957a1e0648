import type { Calendar, ValueRange } from './cron-calendar.ts';
import type { ScheduleSettings } from './schedule-settings.ts';

const minuteMs = 60_000;
/** Clocks are set forward and back at full quarters of an hour of UTC. */
const blockMs = 15 * minuteMs;

/**
 * When a schedule starts its work in `fromMs` (inclusive) to `toMs` (exclusive), in milliseconds since the epoch, in
 * order and without jitter. As the server does it: intervals count from the epoch; a time that the clock skips is left
 * out, one that it shows twice is taken once (docs/decisions/0005).
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
      if (at < fromMs || at >= toMs || taken.has(shown) || !shows(calendar, new Date(shown))) continue;
      taken.add(shown);
      starts.push(at);
    }
  }
  return starts;
}

/** `shown` has the clock's reading in its UTC fields. */
function shows({ minute, hour, dayOfMonth, month, dayOfWeek }: Calendar, shown: Date): boolean {
  return (
    holds(minute, shown.getUTCMinutes()) &&
    holds(hour, shown.getUTCHours()) &&
    holds(dayOfMonth, shown.getUTCDate()) &&
    holds(month, shown.getUTCMonth() + 1) &&
    holds(dayOfWeek, shown.getUTCDay())
  );
}

function holds(ranges: readonly ValueRange[], value: number): boolean {
  return ranges.some(({ start, end, step }) => value >= start && value <= end && (value - start) % step === 0);
}

/** What a time zone's clock is ahead of UTC at a moment, in milliseconds. An empty name means UTC. */
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
