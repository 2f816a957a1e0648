import { z } from 'zod';
import { calendarOfCron } from '../schedules/rules/cron-calendar.ts';
import { duration } from './field-schemas.ts';

/** `{ every: 15m }`, or `{ cron: "0 6 * * *", timezone: Europe/Berlin }`, each with an optional `jitter`. */
export const scheduleSchema = z
  .strictObject({
    every: duration({ min: '1s', max: '366d' })
      .refine((ms) => ms % 1000 === 0, 'expected whole seconds')
      .optional()
      .describe('Time between two starts. This or `cron`.'),
    cron: z
      .string()
      .refine(
        (text) => calendarOfCron(text) !== null,
        'expected five cron fields such as "0 6 * * *", or @daily and the like',
      )
      .meta({ title: 'cron expression', examples: ['0 6 * * *', '@daily'] })
      .optional()
      .describe('Minute, hour, day of month, month, day of week; or `@hourly`, `@daily` and the like.'),
    timezone: z
      .string()
      .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
      .meta({ title: 'time zone', examples: ['Europe/Berlin', 'UTC'] })
      .optional()
      .describe('Time zone of `cron`. Absent: `UTC`.'),
    jitter: duration({ min: '0s', max: '1d' })
      .optional()
      .describe(
        "Delays each start by up to this time, by a hash of the schedule's name. Absent: `1m` with `cron`; starts with `every` are spread anyway.",
      ),
  })
  .refine(({ every, cron }) => (every === undefined) !== (cron === undefined), 'expected either "every" or "cron"')
  .refine(({ cron, timezone }) => cron !== undefined || timezone === undefined, '"timezone" works only with "cron"')
  .meta({
    title: 'schedule',
    oneOf: [{ required: ['every'] }, { required: ['cron'] }],
    dependentRequired: { timezone: ['cron'] },
  });

export type ScheduleInput = z.output<typeof scheduleSchema>;

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
