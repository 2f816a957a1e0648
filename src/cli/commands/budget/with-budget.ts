import type { BudgetClient } from '../../../client/budget.ts';
import type { WindowView } from '../../../model/budget/permits.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { CliFailure } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findOrganization } from '../../input/find-configured.ts';
import { budgetDocument, budgetText } from './budget-view.ts';

/** Changes one organization's budget and shows the window after it. */
export async function withBudget(
  context: CommandContext,
  name: string | undefined,
  change: (budget: BudgetClient, org: string) => Promise<WindowView>,
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { BudgetClient } = await import('../../../client/budget.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { askWorker } = await import('../../temporal/ask-worker.ts');
  const { taskQueue } = config.temporal;
  const view = await withTemporal(config, ({ client }) => {
    const budget = new BudgetClient(client, taskQueue, new Map([[organization.id, organization.budget]]));
    return askWorker(client, taskQueue, () => refusedAsUsage(() => change(budget, organization.id)));
  });
  const { id } = organization;
  context.output.result(budgetDocument(id, view), budgetText(id, view, Date.now(), context.output.surface));
  return exitCodes.done;
}

/** What the budget does not take is a mistake of the command line. */
async function refusedAsUsage(change: () => Promise<WindowView>): Promise<WindowView> {
  const { WorkflowUpdateFailedError } = await import('@temporalio/client');
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    const message = error.cause?.message ?? 'the budget refused the change';
    throw new CliFailure({ code: 'InvalidInput', message, hint: null, exitCode: exitCodes.usage });
  }
}
