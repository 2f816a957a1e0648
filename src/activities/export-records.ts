import type { ExportRunRow } from '../feedback/store/run-records.ts';
import type { Deed } from '../runs/rules/audit.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { tellOfExport } from './run-notices.ts';

export const createRecordActivities = (deps: ActivityDependencies) => ({
  /** Leaves the run's row in the store, which outlives Temporal's retention (X4), and tells people. Safe to repeat. */
  async recordExportRun(row: ExportRunRow): Promise<void> {
    await deps.runs.recordExportRun(row);
    await tellOfExport(deps, row);
  },

  /** Keeps what a person did (audit.md). Safe to repeat. */
  async recordDeed(deed: Deed): Promise<void> {
    await deps.deeds.recordDeeds([deed]);
  },
});
