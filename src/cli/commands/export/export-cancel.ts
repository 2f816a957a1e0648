import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';

export function addExportCancel(parent: Command, run: RunCommand): void {
  parent
    .command('cancel')
    .description('Cancel the running export of a site; what it downloaded is removed')
    .argument('<domain>', 'domain of a configured site')
    .action((domain: string) => run((context) => cancel(context, domain)));
}

async function cancel(context: CommandContext, domain: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  const { exportHandle } = await import('../../../client/exports.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { requireRunning } = await import('../../temporal/running-workflow.ts');
  return withTemporal(config, async ({ client }) => {
    const handle = exportHandle(client, org, site.domain);
    const { runId } = await requireRunning(handle, `export of ${site.domain}`);
    await handle.cancel();
    const document = { workflowId: handle.workflowId, runId, org, domain: site.domain, cancelRequested: true };
    context.output.result(document, `cancelling the export of ${site.domain}`);
    return exitCodes.done;
  });
}
