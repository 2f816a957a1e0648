import { proxyActivities, sleep } from '@temporalio/workflow';
import { keepSamples, nextPollDelay, type ProgressSample } from '../../src/exports/rules/cadence.ts';
import type { BareActivities } from './fleet-bare-activities.ts';

/*
 * What docferry asks of the service and nothing else: no verification, publication, rollout, record, search attribute,
 * heartbeat or budget. An activity for each request, as a program without further wishes has it.
 */

const { startJob, readJob, download, readPage } = proxyActivities<BareActivities>({
  startToCloseTimeout: '10 minutes',
});
const timeoutMs = 3_600_000;

/** An export with docferry's own moments to poll. */
export async function bareExport({ domain }: { domain: string }): Promise<void> {
  const { jobId } = await startJob({ domain });
  const startedAt = Date.now();
  let samples: readonly ProgressSample[] = [];
  for (;;) {
    await sleep(nextPollDelay({ elapsedMs: Date.now() - startedAt, samples, timeoutMs }).delayMs);
    const { completed, percent } = await readJob({ jobId });
    if (completed) break;
    samples = keepSamples(samples, { atMs: Date.now() - startedAt, percent });
  }
  await download({ jobId });
}

/** All pages of a project. */
export async function bareSync({ org, project }: { org: string; project: string }): Promise<void> {
  let cursor: string | null = null;
  do {
    cursor = (await readPage({ org, project, cursor })).next;
  } while (cursor !== null);
}
