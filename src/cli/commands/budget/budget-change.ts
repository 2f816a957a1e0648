import { WorkflowUpdateFailedError } from '@temporalio/client';
import { type BudgetClient, budgetClientOf } from '../../../budget/client.ts';
import type { WindowView } from '../../../budget/rules/permits.ts';
import type { Actor } from '../../../runs/rules/audit.ts';
import { type ActorFlags, actorOf, addActorFlags } from '../../actor.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { CliFailure, type ExitCode, exitCodes, usageFailure } from '../../failure.ts';
import { duration, wholeNumber } from '../../flags.ts';
import { findOrganization } from '../../selection.ts';
import { withTemporal } from '../../session.ts';
import { withFeedbackStore } from '../../stores.ts';
import { askWorker } from '../../waiting.ts';
import { budgetDocument, budgetOrg, budgetText } from './budget-view.ts';

export default {
  set: (command, run) =>
    addActorFlags(command)
      .argument('<org>', 'id of a configured organization')
      .option('--requests <n>', 'requests per window', wholeNumber('--requests'))
      .option('--reserve <n>', 'requests of each window left to other programs', wholeNumber('--reserve'))
      .option('--for <duration>', 'only for this time, e.g. 2h', duration('--for'))
      .action(run(changeBudget, 'set')),
  reset: (command, run) => addActorFlags(command.argument('[org]', budgetOrg)).action(run(changeBudget, 'reset')),
  pause: (command, run) =>
    addActorFlags(command.argument('[org]', budgetOrg))
      .option('--for <duration>', 'only for this time, e.g. 2h', duration('--for'))
      .action(run(changeBudget, 'pause')),
  resume: (command, run) => addActorFlags(command.argument('[org]', budgetOrg)).action(run(changeBudget, 'resume')),
} satisfies CommandFile;

interface ChangeFlags extends ActorFlags {
  requests?: number;
  reserve?: number;
  /** Milliseconds. */
  for?: number;
}

type Change = (budget: BudgetClient, org: string, flags: ChangeFlags, actor: Actor) => Promise<WindowView>;

const changes = {
  set: (budget, org, { for: forMs = null, requests, reserve }, actor) => {
    const limits = { ...(requests !== undefined && { requests }), ...(reserve !== undefined && { reserve }) };
    return budget.override(org, { ...limits, forMs }, actor);
  },
  reset: (budget, org, _flags, actor) => budget.override(org, null, actor),
  pause: (budget, org, { for: forMs = null }, actor) => budget.pause(org, { forMs }, actor),
  resume: (budget, org, _flags, actor) => budget.pause(org, null, actor),
} satisfies Record<string, Change>;

/** Changes an organization's budget and shows the window after it. */
async function changeBudget(
  context: CommandContext,
  kind: keyof typeof changes,
  name: string | undefined,
  flags: ChangeFlags,
): Promise<ExitCode> {
  if (kind === 'set' && flags.requests === undefined && flags.reserve === undefined) {
    throw usageFailure('give --requests, --reserve or both');
  }
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { id } = organization;
  const { taskQueue } = config.temporal;
  const change: Change = changes[kind];
  const view = await withTemporal(config, ({ client }) => {
    const budgets = budgetClientOf(client, config, (work) => withFeedbackStore(config, work));
    return askWorker(client, taskQueue, () => refusedAsUsage(() => change(budgets, id, flags, actorOf(flags))));
  });
  context.output.result(
    budgetDocument(organization, view),
    budgetText(organization, view, Date.now(), context.output.surface),
  );
  return exitCodes.done;
}

/** What the budget refuses is a mistake on the command line. */
async function refusedAsUsage(change: () => Promise<WindowView>): Promise<WindowView> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    const message = error.cause?.message ?? 'the budget refused the change';
    throw new CliFailure({ code: 'InvalidInput', message, hint: null, exitCode: exitCodes.usage });
  }
}
