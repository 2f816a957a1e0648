import type { ExportRunRow } from '../feedback/runs/run-records.ts';
import type { Deed } from '../model/deed.ts';
import type { ActivityDependencies } from './dependencies.ts';

export const createRecordActivities = (deps: ActivityDependencies) => ({
  /** Leaves the run's row in the store, which outlives Temporal's retention (X4). Safe to repeat. */
  async recordExportRun(row: ExportRunRow): Promise<void> {
    await deps.runs.recordExportRun(row);
  },

  /** Keeps what a person did (audit.md). Safe to repeat. */
  async recordDeed(deed: Deed): Promise<void> {
    await deps.deeds.recordDeeds([deed]);
  },
});
