import { setTimeout as sleep } from 'node:timers/promises';
import { isOutage } from '../../temporal/outage.ts';
import { applySchedules } from '../../schedules/schedules.ts';
import { handoverFor, TemporalUnreachable } from '../../temporal/temporal-connection.ts';
import type { Config } from '../../config/config.ts';
import { isEmptyPlan } from '../../schedules/rules/schedule-plan.ts';
import { planText } from '../commands/schedules/schedules-text.ts';
import { withTemporal } from '../session.ts';
import type { Output } from '../terminal/output.ts';
import { never, type Part } from './running-parts.ts';

const tryAgainAfterMs = 15_000;

/**
 * Applies the schedules of the configuration, as `up` does before it is ready, and says what that changed. If Temporal
 * does not answer, warns and keeps trying in the background until the part is stopped. Throws `ScheduleRefused`.
 */
export async function applySchedulesAtStart(output: Output, config: Config, afterMs = tryAgainAfterMs): Promise<Part> {
  const stop = new AbortController();
  const ended = (await areApplied(output, config)) ? never : applyLater(output, config, afterMs, stop.signal);
  return { name: 'applying the schedules', ended, stop: async () => stop.abort() };
}

async function applyLater(output: Output, config: Config, afterMs: number, stop: AbortSignal): Promise<null> {
  output.warn(`Temporal did not answer for all schedules; trying again every ${afterMs / 1000} s`);
  do await sleep(afterMs, undefined, { signal: stop }).catch(() => {});
  while (!stop.aborted && !(await areApplied(output, config)));
  if (!stop.aborted) output.note('all schedules are applied now');
  return never;
}

/** False when Temporal did not answer, for some of them or at all. */
async function areApplied(output: Output, config: Config): Promise<boolean> {
  try {
    const done = await withTemporal(config, ({ client }) =>
      applySchedules(client, config.temporal.taskQueue, config.organizations, handoverFor(config.temporal)),
    );
    if (!isEmptyPlan(done)) output.note(`schedules:\n${planText(done, 'done', output.paintNotes)}`);
    return done.unread.length === 0;
  } catch (error) {
    if (error instanceof TemporalUnreachable || isOutage(error)) return false;
    throw error;
  }
}
