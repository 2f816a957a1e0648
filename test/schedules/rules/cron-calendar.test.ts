import { describe, expect, it } from 'vitest';
import { calendarOfCron, calendarText } from '../../../src/schedules/rules/schedule-settings.ts';

const canonical = (cron: string): string | null => {
  const calendar = calendarOfCron(cron);
  return calendar && calendarText(calendar);
};

describe('a cron expression as a calendar', () => {
  it.each([
    ['0 6 * * *', '0 6 * * *'],
    ['*/15 8-18 * * mon-fri', '*/15 8-18 * * 1-5'],
    ['0 0 1,15 JAN *', '0 0 1,15 1 *'],
    ['5/10 * * * 7', '5-55/10 * * * 0'],
    ['0 0 * * 5-7', '0 0 * * 0,5,6'],
    ['0 0 * * 1-7/2', '0 0 * * 0,1,3,5'],
    ['0 0 * * 0-7', '0 0 * * *'],
    ['30,0,15,45 * * * *', '*/15 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@yearly', '0 0 1 1 *'],
  ])('%j reads %j', (cron, text) => {
    expect(canonical(cron)).toBe(text);
  });

  it('has one text for all ways to write the same times', () => {
    const ways = ['0-59 * * * *', '* * 1-31 * 0-6', '*/1 0-23 * jan-dec *', '* * * * 1-7'];
    expect(new Set(ways.map(canonical))).toEqual(new Set(['* * * * *']));
  });

  it.each([
    '',
    '* * * *',
    '0 6 * * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '0 0 * 13 *',
    '5-1 * * * *',
    '*/0 * * * *',
    '1,,2 * * * *',
    '@often',
    'a b c d e',
  ])('refuses %j', (text) => {
    expect(calendarOfCron(text)).toBeNull();
  });
});
