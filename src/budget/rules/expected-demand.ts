import type { PassKind } from '../../feedback/rules/pass-bounds.ts';
import type { ScheduleSettings } from '../../schedules/rules/schedule-settings.ts';
import { scheduledStarts } from '../../schedules/rules/starts.ts';

/** A pass that a schedule starts. */
export interface ScheduledDemand {
  project: string;
  pass: PassKind;
  times: Pick<ScheduleSettings, 'intervals' | 'calendars' | 'timezone' | 'jitterMs'>;
}

/**
 * Requests that schedules will need within `windowMs` from `atMs`, by the cost of their latest runs: those are not spare
 * (docs/decisions/0007). Infinity when a pass of unknown cost starts.
 */
export function expectedDemand(
  scheduled: readonly ScheduledDemand[],
  costs: readonly { project: string; pass: string; requests: number }[],
  { atMs, windowMs }: { atMs: number; windowMs: number },
): number {
  return scheduled.reduce((sum, { project, pass, times }) => {
    // By the jitter, a start that was due earlier may fall into this window.
    const starts = scheduledStarts(times, atMs - times.jitterMs, atMs + windowMs).length;
    if (starts === 0) return sum;
    const known = costs.find((cost) => cost.project === project && cost.pass === pass);
    return sum + starts * (known?.requests ?? Number.POSITIVE_INFINITY);
  }, 0);
}
