import { exportHandle } from '../../../client/exports.ts';
import { cancelledRun } from '../../../model/own-deed.ts';
import { cancelExports } from '../../bulk/bulk-exports.ts';
import { isBulk } from '../../bulk/is-bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import type { BulkFlags } from '../../input/bulk-flags.ts';
import { findSite } from '../../input/find-configured.ts';
import { keepDeeds } from '../../input/keep-deeds.ts';
import { requireRunning } from '../../temporal/running-workflow.ts';
import { withTemporal } from '../../temporal/session.ts';

export default async function cancelExport(
  context: CommandContext,
  name: string | undefined,
  flags: BulkFlags,
): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return cancelExports(context, flags);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  return withTemporal(config, async ({ client }) => {
    const handle = exportHandle(client, org, domain);
    const { workflowId, runId } = await requireRunning(handle, `export of ${domain}`);
    await handle.cancel();
    await keepDeeds(context, config, flags, [cancelledRun({ kind: 'export', org, domain }, runId)]);
    const document = { workflowId, runId, org, domain, cancelRequested: true };
    context.output.result(document, `cancelling the export of ${domain}`);
    return exitCodes.done;
  });
}
