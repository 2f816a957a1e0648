import { WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../../../budget/client.ts';
import type { WindowView } from '../../../budget/rules/permits.ts';
import { untouchedView } from '../../../budget/rules/window-view.ts';
import type { Config, OrganizationConfig } from '../../../config/config.ts';
import { naturalOrder } from '../../../rules/text.ts';
import { callsAtOnce, inBatches } from '../../../temporal/runs.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { findOrganization } from '../../selection.ts';
import { type Session, withTemporal } from '../../session.ts';
import { askWorker } from '../../waiting.ts';
import { budgetDocument, budgetTable, budgetText } from './budget-view.ts';

/** An organization's window now; as configured and all free if it never asked for a permit. */
export async function readBudget({ client, config }: Session, { id, budget }: OrganizationConfig): Promise<WindowView> {
  try {
    return await askWorker(client, config.temporal.taskQueue, () => budgetView(client, id));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return untouchedView(budget);
    throw error;
  }
}

export default async function showBudget(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  if (name === undefined && config.organizations.length > 1) return showAllBudgets(context, config);
  const organization = findOrganization(config, name);
  const view = await withTemporal(config, (session) => readBudget(session, organization));
  context.output.result(
    budgetDocument(organization, view),
    budgetText(organization, view, Date.now(), context.output.surface),
  );
  return exitCodes.done;
}

async function showAllBudgets({ output }: CommandContext, config: Config): Promise<ExitCode> {
  const organizations = [...config.organizations].sort((a, b) => naturalOrder(a.id, b.id));
  const budgets = await withTemporal(config, (session) =>
    inBatches(organizations, callsAtOnce, async (organization) => ({
      organization,
      view: await readBudget(session, organization),
    })),
  );
  const document = { organizations: budgets.map(({ organization, view }) => budgetDocument(organization, view)) };
  output.result(document, budgetTable(budgets, Date.now(), output.surface));
  return exitCodes.done;
}
