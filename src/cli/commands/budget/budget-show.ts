import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findOrganization } from '../../input/find-configured.ts';
import { budgetDocument, budgetText } from './budget-view.ts';

export function addBudgetShow(parent: Command, run: RunCommand): void {
  parent
    .command('show')
    .description("An organization's window of analytics requests: used, free, who holds, who waits")
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .action((org: string | undefined) => run((context) => show(context, org)));
}

async function show(context: CommandContext, name: string | undefined): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { id } = organization;
  const { withTemporal } = await import('../../temporal/session.ts');
  const { readBudget } = await import('./read-budget.ts');
  const view = await withTemporal(config, (session) => readBudget(session, organization));
  context.output.result(budgetDocument(id, view), budgetText(id, view, Date.now(), context.output.surface));
  return exitCodes.done;
}
