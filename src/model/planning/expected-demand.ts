import type { ScheduleSettings } from '../schedule/schedule-settings.ts';
import { scheduledStarts } from '../schedule/scheduled-starts.ts';
import type { PassKind } from '../sync/pass-kind.ts';

/** A pass that a schedule starts. */
export interface ScheduledDemand {
  project: string;
  pass: PassKind;
  times: Pick<ScheduleSettings, 'intervals' | 'calendars' | 'timezone' | 'jitterMs'>;
}

/**
 * Requests that schedules will want within `windowMs` from `atMs` on, by what their latest runs have cost: what is not
 * spare (docs/decisions/0007). Infinity when one starts of which nothing is known yet.
 */
export function expectedDemand(
  scheduled: readonly ScheduledDemand[],
  costs: readonly { project: string; pass: string; requests: number }[],
  { atMs, windowMs }: { atMs: number; windowMs: number },
): number {
  return scheduled.reduce((sum, { project, pass, times }) => {
    // A start may be late by the jitter, and be in this window although it was due before.
    const starts = scheduledStarts(times, atMs - times.jitterMs, atMs + windowMs).length;
    if (starts === 0) return sum;
    const known = costs.find((cost) => cost.project === project && cost.pass === pass);
    return sum + starts * (known?.requests ?? Number.POSITIVE_INFINITY);
  }, 0);
}
