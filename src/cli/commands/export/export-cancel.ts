import { exportHandle } from '../../../operations/exports.ts';
import { cancelledRun } from '../../../runs/rules/own-audit-entries.ts';
import { cancelExports } from '../../bulk-exports.ts';
import { isBulk } from '../../is-bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import type { BulkFlags } from '../../bulk-flags.ts';
import { findSite } from '../../find-configured.ts';
import { keepDeeds } from '../../audit.ts';
import { requireRunning } from '../../running-workflow.ts';
import { withTemporal } from '../../session.ts';

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
