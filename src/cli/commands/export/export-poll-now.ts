import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';

export function addExportPollNow(parent: Command, run: RunCommand): void {
  parent
    .command('poll-now')
    .description('Ask for the state of the running job at once instead of at the next poll')
    .argument('<domain>', 'domain of a configured site')
    .action((domain: string) => run((context) => pollAtOnce(context, domain)));
}

async function pollAtOnce(context: CommandContext, domain: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  const { exportHandle, pollNow } = await import('../../../client/exports.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { requireRunning } = await import('../../temporal/running-workflow.ts');
  const { askWorker } = await import('../../temporal/ask-worker.ts');
  return withTemporal(config, async ({ client }) => {
    const { workflowId, runId } = await requireRunning(
      exportHandle(client, org, site.domain),
      `export of ${site.domain}`,
    );
    const { phase, progress } = await askWorker(client, config.temporal.taskQueue, () =>
      pollNow(client, org, site.domain),
    );
    const document = { workflowId, runId, org, domain: site.domain, phase, polls: progress?.polls ?? 0 };
    context.output.result(document, `asking for the job of ${site.domain} now`);
    return exitCodes.done;
  });
}
