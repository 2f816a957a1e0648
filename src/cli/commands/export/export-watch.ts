import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import type { ExitCode } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import { waitTimeout } from '../../input/wait-options.ts';
import type { WatchedWorkflow } from './watch-export.ts';

export function addExportWatch(parent: Command, run: RunCommand): void {
  parent
    .command('watch')
    .description(
      'Show how the running export or rollback of a site goes, until it ends; Ctrl-C stops the watching only',
    )
    .argument('<domain>', 'domain of a configured site')
    .option('--timeout <duration>', 'watch no longer than this, e.g. 30m (then exit code 5)')
    .action((domain: string, flags: { timeout?: string }) => run((context) => watch(context, domain, flags)));
}

async function watch(context: CommandContext, domain: string, { timeout }: { timeout?: string }): Promise<ExitCode> {
  const timeoutMs = waitTimeout({ wait: true, ...(timeout === undefined ? {} : { timeout }) });
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  const { exportHandle } = await import('../../../client/exports.ts');
  const { requireRunning } = await import('../../temporal/running-workflow.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { watchExport } = await import('./watch-export.ts');
  return withTemporal(config, async (session) => {
    const { client } = session;
    const { workflowId } = exportHandle(client, org, site.domain);
    const running = await requireRunning(client.workflow.getHandle(workflowId), `export of ${site.domain}`);
    // This run: a schedule may start the next one in the moment it ends.
    const handle = client.workflow.getHandle<WatchedWorkflow>(workflowId, running.runId);
    return watchExport(context, session, { org, domain: site.domain, handle, timeoutMs });
  });
}
