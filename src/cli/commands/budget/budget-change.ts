import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { Limits } from '../../../budget/rules/permits.ts';
import type { WindowView } from '../../../budget/rules/window-view.ts';
import type { Operator } from '../../../operations/operator.ts';
import { CliFailure, type CommandContext, type CommandFile, exitCodes, usageFailure } from '../../context.ts';
import { type ActorFlags, addActorFlag, addActorFlags, duration, findOrganization, wholeNumber } from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { budgetDocument, budgetOrg, budgetText } from './budget-show.ts';

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
  move: (command, run) => addActorFlag(command.argument('[org]', budgetOrg)).action(run(moveBudget)),
} satisfies CommandFile;

interface ChangeFlags extends ActorFlags {
  requests?: number;
  reserve?: number;
  /** Milliseconds. */
  for?: number;
}

/** A typing error must not stop the feedback for a year; without `--for`, a pause may last. */
const longestPauseMs = 30 * 86_400_000;

const changes = {
  set: (operator: Operator, org: string, { for: forMs, requests, reserve }: ChangeFlags) => {
    const limits = { ...(requests !== undefined && { requests }), ...(reserve !== undefined && { reserve }) };
    return operator.overrideBudget(org, { ...limits, forMs: forMs ?? null });
  },
  reset: (operator: Operator, org: string) => operator.overrideBudget(org, null),
  pause: (operator: Operator, org: string, flags: ChangeFlags) =>
    operator.pauseBudget(org, { forMs: flags.for ?? null }),
  resume: (operator: Operator, org: string) => operator.pauseBudget(org, null),
};

/** Changes an organization's budget and shows the window after it. */
async function changeBudget(
  context: CommandContext,
  kind: keyof typeof changes,
  name: string | undefined,
  flags: ChangeFlags,
): Promise<void> {
  if (kind === 'set' && flags.requests === undefined && flags.reserve === undefined) {
    throw usageFailure('give --requests, --reserve or both');
  }
  if (kind === 'pause' && (flags.for ?? 0) > longestPauseMs) {
    throw usageFailure('--for is longer than 30 days', 'without --for the pause lasts until `budget resume`');
  }
  return withOperator(context, flags, async ({ config, operator }) => {
    const organization = findOrganization(config, name);
    const view = await refusedAsUsage(() => changes[kind](operator, organization.id, flags));
    const { output } = context;
    const text = budgetText(organization, view, Date.now(), output.surface);
    const differs = kind === 'set' ? differing(flags, organization.budget) : [];
    const note = `by hand, instead of docferry.yaml: ${differs.join(', ')}`;
    output.result(budgetDocument(organization, view), differs.length === 0 ? text : `${text}\n  ${note}`);
  });
}

/** What a person set that docferry.yaml sets otherwise. */
const differing = (flags: ChangeFlags, configured: Limits): string[] =>
  (['requests', 'reserve'] as const).flatMap((name) => {
    const set = flags[name];
    return set === undefined || set === configured[name] ? [] : [`${name} ${set}, not ${configured[name]}`];
  });

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

const texts = {
  moved: 'moved, with what it remembers',
  'moved-empty': 'moved; no worker of its old task queue answered, so it grants nothing until a window has passed',
  'in-place': 'it runs on this task queue already',
};

/** Moves an organization's budget to the task queue of the configuration (B7). */
async function moveBudget(context: CommandContext, name: string | undefined, flags: ActorFlags): Promise<void> {
  return withOperator(context, flags, async ({ config, operator }) => {
    const { id: org } = findOrganization(config, name);
    const { taskQueue } = config.temporal;
    const outcome = await operator.moveBudget(org);
    context.output.result({ org, outcome, taskQueue }, `budget of ${org} on ${taskQueue}: ${texts[outcome]}`);
  });
}
