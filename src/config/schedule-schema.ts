import { z } from 'zod';
import { isCron } from './cron.ts';
import { duration } from './field-schemas.ts';

/** `{ every: 15m }`, or `{ cron: "0 6 * * *", timezone: Europe/Berlin }`, each with an optional `jitter`. */
export const scheduleSchema = z
  .strictObject({
    every: duration({ min: '1m', max: '366d' }).optional(),
    cron: z.string().refine(isCron, 'expected five cron fields such as "0 6 * * *", or @daily and the like').optional(),
    timezone: z.string().refine(isTimeZone, 'expected a time zone such as Europe/Berlin').optional(),
    jitter: duration({ min: '0s', max: '1d' }).optional(),
  })
  .refine(({ every, cron }) => (every === undefined) !== (cron === undefined), 'expected either "every" or "cron"')
  .refine(({ cron, timezone }) => cron !== undefined || timezone === undefined, '"timezone" goes with "cron" only');

export type ScheduleInput = z.output<typeof scheduleSchema>;

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
