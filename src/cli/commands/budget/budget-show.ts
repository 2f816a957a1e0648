import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findOrganization } from '../../input/find-configured.ts';
import { withTemporal } from '../../temporal/session.ts';
import { budgetDocument, budgetText } from './budget-view.ts';
import { readBudget } from './read-budget.ts';

export default async function showBudget(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { id } = organization;
  const view = await withTemporal(config, (session) => readBudget(session, organization));
  context.output.result(budgetDocument(id, view), budgetText(id, view, Date.now(), context.output.surface));
  return exitCodes.done;
}
