import type { ExportRunRow } from '../feedback/store/run-records.ts';
import { exportNotices } from '../runs/rules/export-notices.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { tell } from './tell.ts';

/**
 * Notifies people about an export or rollback whose row is written. A row that comes late says nothing about the
 * present.
 */
export async function tellOfExport(deps: ActivityDependencies, row: ExportRunRow): Promise<void> {
  const { org, domain, runId, finishedAt } = row;
  const [newest] = await deps.runs.listExportRuns({ org, domain, limit: 1 });
  if (newest !== undefined && newest.runId !== runId) return;
  await tell(deps, exportNotices(row), { org, by: `run ${runId}`, at: new Date(finishedAt) });
}
