import {
  type ActivityOptions,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { endOptions, passingOptions, recordOptions } from './activity-options.ts';
import { failureSummary } from './failure-summary.ts';

type PassingSteps = Pick<Activities, 'planExport' | 'discardStaged' | 'recordExportRun'>;
export type SitePlan = Awaited<ReturnType<Activities['planExport']>>;
export type RunRow = Parameters<Activities['recordExportRun']>[0];

/** Steps that are not worth a separate task: they run within a workflow task and leave one event each. */
const inPassing = proxyLocalActivities<PassingSteps>(passingOptions);
/** Any worker may be given the step, and again and again: for what this worker could not do in passing. */
const asTask = proxyActivities<PassingSteps>(recordOptions);

/** What the configuration says about a site; what this worker's lacks, another worker's may have for some minutes yet. */
export function planSite(org: string, domain: string): Promise<SitePlan> {
  return pass('planExport', { org, domain }, { ...recordOptions, summary: `read the configuration of ${domain}` });
}

/** Removes a download. A failure is only logged: leftovers are swept after a week. */
export async function discardDownload(storeId: string, stageId: string): Promise<void> {
  try {
    await pass('discardStaged', { storeId, stageId }, { ...endOptions, summary: 'remove the download' });
  } catch (failure) {
    if (isCancellation(failure)) throw failure;
    log.warn('the download stays until it is swept', { failure: failureSummary(failure) });
  }
}

/** Writes the row of a run that has ended. Throws when the database is down for half a minute. */
export function recordRow(row: RunRow): Promise<void> {
  return pass('recordExportRun', row, { ...endOptions, summary: `record the run: ${row.outcome}` });
}

async function pass<Name extends keyof PassingSteps>(
  step: Name,
  input: Parameters<PassingSteps[Name]>[0],
  otherwise: ActivityOptions & { summary: string },
): Promise<Awaited<ReturnType<PassingSteps[Name]>>> {
  type Step = { executeWithOptions(options: object, args: [typeof input]): ReturnType<PassingSteps[Name]> };
  const { summary } = otherwise;
  try {
    return await (inPassing[step] as unknown as Step).executeWithOptions({ ...passingOptions, summary }, [input]);
  } catch (error) {
    // Anything but the step's own failure fails the workflow task, as it would again in a replay.
    if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
    log.info('the step becomes a task, for any worker', { step, failure: failureSummary(error) });
    return await (asTask[step] as unknown as Step).executeWithOptions(otherwise, [input]);
  }
}
