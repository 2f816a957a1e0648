import type { Command } from 'commander';
import { planBudget } from '../../../model/planning/plan-budget.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findOrganization } from '../../input/find-configured.ts';
import { planDocument, planText } from './budget-plan-text.ts';

export function addBudgetPlan(parent: Command, run: RunCommand): void {
  parent
    .command('plan')
    .description(
      "Whether an organization's schedules fit its budget, and the intervals that bring new entries in soonest",
    )
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .action((org: string | undefined) => run((context) => plan(context, org)));
}

/** Advice only: it changes nothing, and ends with 0 whatever it finds. */
async function plan(context: CommandContext, name: string | undefined): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { withFeedbackStore } = await import('../../input/feedback-store-of.ts');
  const activity = await withFeedbackStore(config, async (store) => {
    const projects = organization.projects.map(
      async ({ id }) => [id, await store.projectActivity(organization.id, id)] as const,
    );
    return new Map(await Promise.all(projects));
  });
  const { budget } = organization;
  const { taskQueue } = config.temporal;
  const planned = planBudget({ taskQueue, organization, budget, activity, fromMs: Date.now() });
  const shown = { org: organization.id, limit: budget.requests, reserve: budget.reserve, plan: planned };
  context.output.result(planDocument(shown), planText(shown, context.output.paint));
  return exitCodes.done;
}
