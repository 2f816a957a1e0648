import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';

export function addExportApprove(parent: Command, run: RunCommand): void {
  parent
    .command('approve')
    .description('Put the version that waits for approval into service')
    .argument('<domain>', 'domain of a configured site')
    .argument('[version]', 'refuse unless this one waits, e.g. the one you have looked at')
    .action((domain: string, version?: string) => run((context) => approve(context, domain, version)));
}

async function approve(context: CommandContext, domain: string, version?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  const { approveExport } = await import('../../../client/decide-approval.ts');
  const { decide } = await import('./send-decision.ts');
  const ask = { org, domain: site.domain, ...(version === undefined ? {} : { version }) };
  const document = await decide(config, ask, (client) => approveExport(client, ask));
  context.output.result({ ...document, decision: 'approved' }, `approved: ${document.version} goes into service`);
  return exitCodes.done;
}
