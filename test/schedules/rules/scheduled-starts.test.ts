import { describe, expect, it } from 'vitest';
import { calendarOfCron } from '../../../src/schedules/rules/schedule-settings.ts';
import { scheduledStarts } from '../../../src/schedules/rules/starts.ts';

const minute = 60_000;

function cronStarts(cron: string, timezone: string, from: string, to: string): string[] {
  const calendar = calendarOfCron(cron);
  const calendars = calendar === null ? [] : [calendar];
  return texts(scheduledStarts({ intervals: [], calendars, timezone }, Date.parse(from), Date.parse(to)));
}

function texts(starts: readonly number[]): string[] {
  return starts.map((at) => new Date(at).toISOString().slice(0, 16));
}

describe('scheduledStarts', () => {
  it('counts intervals from the epoch, the beginning included and the end not', () => {
    const intervals = [{ everyMs: 15 * minute, offsetMs: 2 * minute }];
    const from = Date.parse('2026-11-21T08:02Z');
    const starts = scheduledStarts({ intervals, calendars: [], timezone: '' }, from, from + 45 * minute);
    expect(texts(starts)).toEqual(['2026-11-21T08:02', '2026-11-21T08:17', '2026-11-21T08:32']);
    expect(scheduledStarts({ intervals, calendars: [], timezone: '' }, from + 1, from + 2)).toEqual([]);
  });

  it('takes cron as the clock of its time zone shows it', () => {
    expect(cronStarts('0 6 * * *', 'Europe/Berlin', '2026-11-21', '2026-11-23')).toEqual([
      '2026-11-21T05:00',
      '2026-11-22T05:00',
    ]);
    expect(cronStarts('30 9 * * *', 'Asia/Kathmandu', '2026-11-21', '2026-11-22')).toEqual(['2026-11-21T03:45']);
    expect(cronStarts('0,30 */12 * * sun', '', '2026-11-21', '2026-11-24')).toEqual([
      '2026-11-22T00:00',
      '2026-11-22T00:30',
      '2026-11-22T12:00',
      '2026-11-22T12:30',
    ]);
  });

  it('needs both the day of the month and the day of the week', () => {
    expect(cronStarts('0 0 13 * 5', 'UTC', '2026-01-01', '2026-12-31')).toEqual([
      '2026-02-13T00:00',
      '2026-03-13T00:00',
      '2026-11-13T00:00',
    ]);
  });

  it('leaves out a time the clock skips, and takes one it shows twice once', () => {
    expect(cronStarts('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '2026-03-30T00:30',
    ]);
    expect(cronStarts('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', '2026-10-26T12:00Z')).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
  });
});
