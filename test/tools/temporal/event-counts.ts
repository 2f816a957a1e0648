import type { WorkflowHandle } from '@temporalio/client';
import { temporal } from '@temporalio/proto';

/** How many events of each type a run has left, e.g. `{ TIMER_STARTED: 3 }`. */
type EventCounts = Record<string, number>;

/** Counts a run's events. `total` leaves out workflow tasks that timed out: they say how busy the machine is. */
export async function eventCounts(handle: WorkflowHandle): Promise<{ counts: EventCounts; total: number }> {
  const { events } = await handle.fetchHistory();
  const counts: EventCounts = {};
  for (const { eventType } of events ?? []) {
    const name = `${temporal.api.enums.v1.EventType[eventType ?? 0]}`.replace('EVENT_TYPE_', '');
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const of = (name: string) => counts[`WORKFLOW_TASK_${name}`] ?? 0;
  const timedOut = of('SCHEDULED') + of('STARTED') + of('TIMED_OUT') - 2 * of('COMPLETED');
  return { counts, total: (events ?? []).length - timedOut };
}
