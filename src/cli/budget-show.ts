import type { Command } from 'commander';
import { budgetDocument, budgetText, untouchedView } from './budget-view.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from './context.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { findOrganization } from './find-configured.ts';

export function addBudgetShow(parent: Command, run: RunCommand): void {
  parent
    .command('show')
    .description("An organization's window of analytics requests: used, free, who holds, who waits")
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .action((org: string | undefined) => run((context) => show(context, org)));
}

async function show(context: CommandContext, name: string | undefined): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { id: org, budget } = findOrganization(config, name);
  const { budgetView } = await import('../client/budget.ts');
  const { WorkflowNotFoundError } = await import('@temporalio/client');
  const { withTemporal } = await import('./session.ts');
  const { askWorker } = await import('./ask-worker.ts');
  const view = await withTemporal(config, async ({ client }) => {
    try {
      return await askWorker(client, config.temporal.taskQueue, () => budgetView(client, org));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return untouchedView(budget);
      throw error;
    }
  });
  context.output.result(budgetDocument(org, view), budgetText(org, view, Date.now(), context.output.paint));
  return exitCodes.done;
}
