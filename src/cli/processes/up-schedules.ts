import { applySchedules } from '../../client/schedules.ts';
import type { Config } from '../../config/config.ts';
import { isEmptyPlan } from '../../model/schedule/schedule-plan.ts';
import { planText } from '../commands/schedules/schedules-text.ts';
import { withTemporal } from '../temporal/session.ts';
import type { Output } from '../terminal/output.ts';

/** Applies the schedules of the configuration, as `up` does before it is ready, and says what that changed. */
export async function applySchedulesAtStart(output: Output, config: Config): Promise<void> {
  const done = await withTemporal(config, ({ client }) =>
    applySchedules(client, config.temporal.taskQueue, config.organizations),
  );
  if (!isEmptyPlan(done)) output.note(`schedules:\n${planText(done, 'done', output.paintNotes)}`);
}
