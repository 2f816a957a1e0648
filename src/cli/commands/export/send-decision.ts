import type { Client } from '@temporalio/client';
import { exportHandle } from '../../../client/exports.ts';
import type { Config } from '../../../config/config.ts';
import { askWorker } from '../../temporal/ask-worker.ts';
import { requireRunning } from '../../temporal/running-workflow.ts';
import { withTemporal } from '../../temporal/session.ts';

/** Tells the running export of a site what a person decided. Throws exit code 4 when none runs. */
export async function decide(
  config: Config,
  { org, domain }: { org: string; domain: string },
  tell: (client: Client) => Promise<{ version: string }>,
): Promise<{ workflowId: string; runId: string; org: string; domain: string; version: string }> {
  return withTemporal(config, async ({ client }) => {
    const running = await requireRunning(exportHandle(client, org, domain), `export of ${domain}`);
    const { workflowId, runId } = running;
    const { version } = await askWorker(client, config.temporal.taskQueue, () => tell(client));
    return { workflowId, runId, org, domain, version };
  });
}
