import { planBudget } from '../../../budget/rules/plan-budget.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { withFeedbackStore } from '../../feedback-store-of.ts';
import { findOrganization } from '../../find-configured.ts';
import { planDocument, planText } from './budget-plan-text.ts';

/** Advice only: it changes nothing, and ends with 0 whatever it finds. */
export default async function showBudgetPlan(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const activity = await withFeedbackStore(config, async (store) => {
    const projects = organization.projects.map(
      async ({ id }) => [id, await store.projectActivity(organization.id, id)] as const,
    );
    return new Map(await Promise.all(projects));
  });
  const { budget } = organization;
  const { taskQueue } = config.temporal;
  const names = new Map(organization.projects.map(({ id, name: title }) => [id, title]));
  const plan = planBudget({ taskQueue, organization, budget, activity, fromMs: Date.now() });
  const shown = { org: organization.id, limit: budget.requests, reserve: budget.reserve, plan, names };
  context.output.result(planDocument(shown), planText(shown, context.output.surface));
  return exitCodes.done;
}
