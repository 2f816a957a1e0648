import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';

export function addExportReject(parent: Command, run: RunCommand): void {
  parent
    .command('reject')
    .description('Remove the version that waits for approval; what is in service stays')
    .argument('<domain>', 'domain of a configured site')
    .argument('[version]', 'refuse unless this one waits')
    .requiredOption('--reason <text>', 'why, up to 500 characters; stands in the result and in `export status`')
    .action((domain: string, version: string | undefined, { reason }: { reason: string }) =>
      run((context) => reject(context, domain, version, reason)),
    );
}

async function reject(
  context: CommandContext,
  domain: string,
  version: string | undefined,
  reason: string,
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  const { rejectExport } = await import('../../../client/decide-approval.ts');
  const { decide } = await import('./send-decision.ts');
  const ask = { org, domain: site.domain, reason, ...(version === undefined ? {} : { version }) };
  const document = await decide(config, ask, (client) => rejectExport(client, ask));
  context.output.result({ ...document, decision: 'rejected', reason }, `rejected: ${document.version} is removed`);
  return exitCodes.done;
}
