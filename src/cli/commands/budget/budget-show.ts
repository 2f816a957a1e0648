import { inBatches } from '../../../temporal/in-batches.ts';
import { callsAtOnce } from '../../../schedules/owned-schedules.ts';
import type { Config } from '../../../config/config.ts';
import { naturalOrder } from '../../../rules/natural-order.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { findOrganization } from '../../find-configured.ts';
import { withTemporal } from '../../session.ts';
import { budgetDocument, budgetTable, budgetText } from './budget-view.ts';
import { readBudget } from './read-budget.ts';

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
