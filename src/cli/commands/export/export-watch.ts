import { exportHandle } from '../../../operations/exports.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import type { ExitCode } from '../../failure.ts';
import { type WaitFlags, waitTimeout } from '../../flags.ts';
import { findSite } from '../../selection.ts';
import { requireRunning, withTemporal } from '../../session.ts';
import { type AwaitedWorkflow, waitForExport } from './wait-for-export.ts';

export default async function watchExport(
  context: CommandContext,
  name: string,
  flags: Pick<WaitFlags, 'timeout'>,
): Promise<ExitCode> {
  const timeoutMs = waitTimeout({ ...flags, wait: true });
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  return withTemporal(config, async (session) => {
    const { client } = session;
    const { workflowId } = exportHandle(client, org, domain);
    const running = await requireRunning(client.workflow.getHandle(workflowId), `export of ${domain}`);
    // This run: a schedule may start the next one as soon as it ends.
    const handle = client.workflow.getHandle<AwaitedWorkflow>(workflowId, running.runId);
    return waitForExport(context, session, { org, domain, handle, timeoutMs });
  });
}
