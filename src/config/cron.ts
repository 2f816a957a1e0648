import { calendarOfCron } from '../model/schedule/cron-calendar.ts';

/** Whether `text` is a cron expression of five fields, or `@daily` and the like. */
export function isCron(text: string): boolean {
  return calendarOfCron(text) !== null;
}
