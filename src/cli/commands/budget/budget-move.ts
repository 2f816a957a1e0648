import { type ActorFlags, addActorFlag } from '../../actor.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { withOperator } from '../../operator.ts';
import { findOrganization } from '../../selection.ts';
import { budgetOrg } from './budget-view.ts';

export default {
  move: (command, run) => addActorFlag(command.argument('[org]', budgetOrg)).action(run(moveBudget)),
} satisfies CommandFile;

const texts = {
  moved: 'moved, with what it remembers',
  'moved-empty': 'moved; no worker of its old task queue answered, so it grants nothing until a window has passed',
  'in-place': 'it runs on this task queue already',
};

/** Moves an organization's budget to the task queue of the configuration (B7). */
async function moveBudget(context: CommandContext, name: string | undefined, flags: ActorFlags): Promise<ExitCode> {
  return withOperator(context, flags, async ({ config, operator }) => {
    const { id: org } = findOrganization(config, name);
    const { taskQueue } = config.temporal;
    const outcome = await operator.moveBudget(org);
    context.output.result({ org, outcome, taskQueue }, `budget of ${org} on ${taskQueue}: ${texts[outcome]}`);
    return exitCodes.done;
  });
}
