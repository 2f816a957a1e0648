import type { Client } from '@temporalio/client';
import { schedulePrefix, targetOfScheduleId, workflowIdOf } from '../rules/schedule-target.ts';

/** When a schedule of this task queue starts its work next, as Temporal lists it. */
export interface NextStart {
  /** UTC ISO 8601; null while it is paused, or when there is none. */
  nextAt: string | null;
  /** The two after it. */
  thenAt: string[];
  paused: boolean;
}

/** The next start of all work that has a schedule, by the id of its workflow, without describing any schedule. */
export async function nextStarts(client: Client, taskQueue: string): Promise<Map<string, NextStart>> {
  const starts = new Map<string, NextStart>();
  const query = `ScheduleId STARTS_WITH "${schedulePrefix(taskQueue)}"`;
  for await (const { scheduleId, state, info } of client.schedule.list({ query })) {
    const target = targetOfScheduleId(taskQueue, scheduleId);
    if (!target) continue;
    const [next, ...then] = state.paused ? [] : info.nextActionTimes.slice(0, 3).map((at) => at.toISOString());
    starts.set(workflowIdOf(target), { nextAt: next ?? null, thenAt: then, paused: state.paused });
  }
  return starts;
}
