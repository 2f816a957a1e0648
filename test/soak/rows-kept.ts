import type { Client } from '@temporalio/client';
import type { Kept } from '../tools/promises/kept.ts';
import type { SoakScene } from './soak-scene.ts';

/** Every run that has ended left one row that says so (X4). */
export async function rowsKept({ client, database }: SoakScene): Promise<Kept[]> {
  const exports = await database.rows('select run_id, outcome from export_runs');
  const passes = await database.rows('select workflow_id, outcome, finished_at, error from sync_passes');
  const runs = await endedRuns(client, '"exportSite", "rollBack"');
  const ids = new Set(exports.map(({ run_id }) => String(run_id)));
  const missing = runs.filter(({ runId }) => !ids.has(runId));
  const open = passes.filter(({ finished_at }) => finished_at === null);
  const wanted = countBy((await endedRuns(client, '"syncFeedback"')).map(({ workflowId }) => workflowId));
  const found = countBy(passes.map(({ workflow_id }) => String(workflow_id)));
  const fewer = [...wanted].filter(([workflowId, count]) => (found.get(workflowId) ?? 0) < count);
  return [
    {
      promise: 'X4',
      looked: `${runs.length} exports`,
      found: `${exports.length} rows; ${missing.length} exports without one`,
      ok: missing.length === 0 && exports.length === ids.size && exports.length === runs.length,
    },
    {
      promise: 'X4',
      looked: `${[...wanted.values()].reduce((sum, count) => sum + count, 0)} passes`,
      found: `${passes.length} rows (${outcomesOf(passes)}); ${open.length} not closed, ${fewer.length} kinds with fewer rows than passes`,
      ok: open.length === 0 && fewer.length === 0,
    },
  ];
}

/** The runs that ended, without those that went on as new. */
async function endedRuns(client: Client, types: string): Promise<{ workflowId: string; runId: string }[]> {
  const ended: { workflowId: string; runId: string }[] = [];
  const query = `WorkflowType IN (${types}) AND ExecutionStatus IN ("Completed", "Failed", "Canceled")`;
  for await (const { workflowId, runId } of client.workflow.list({ query })) ended.push({ workflowId, runId });
  return ended;
}

/** How many runs ended in which way, in words. */
export function outcomesOf(rows: readonly Record<string, unknown>[]): string {
  return [...countBy(rows.map(({ outcome }) => String(outcome)))]
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
}

function countBy(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
