import { exportHandle } from '../../../operations/exports.ts';
import { cancelledRun } from '../../../runs/rules/own-audit-entries.ts';
import type { BulkFlags } from '../../actor.ts';
import { writeAudit } from '../../audit.ts';
import { cancelExports } from '../../bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { findSite, isBulk } from '../../selection.ts';
import { requireRunning, withTemporal } from '../../session.ts';

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
    await writeAudit(context, config, flags, [cancelledRun({ kind: 'export', org, domain }, runId)]);
    const document = { workflowId, runId, org, domain, cancelRequested: true };
    context.output.result(document, `cancelling the export of ${domain}`);
    return exitCodes.done;
  });
}
