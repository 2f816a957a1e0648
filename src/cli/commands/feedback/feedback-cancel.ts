import { Option } from 'commander';
import { type PassKind, passKinds } from '../../../feedback/rules/pass-bounds.ts';
import { addActorFlag, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { cancelSyncs } from '../../bulk.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes, usageFailure } from '../../failure.ts';
import { projectHelp } from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { findProject, isBulk } from '../../selection.ts';
import { projectTitle } from '../../terminal/text.ts';

export default {
  cancel: (command, run) => {
    command
      .argument('[project]', projectHelp)
      .addOption(new Option('--pass <kind>', 'which pass; with several projects, all by default').choices(passKinds));
    addActorFlag(addBulkFlags(command, 'projects')).action(run(cancelPass));
  },
} satisfies CommandFile;

async function cancelPass(
  context: CommandContext,
  name: string | undefined,
  flags: BulkFlags & { pass?: PassKind },
): Promise<ExitCode> {
  if (isBulk(name, flags, 'project')) return cancelSyncs(context, flags);
  const { pass } = flags;
  if (pass === undefined) throw usageFailure('name the pass to cancel: --pass <kind>');
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, project: found } = findProject(config, name);
    const { id: project } = found;
    const { workflowId, runId } = await operator.cancel({ kind: 'sync', org, project, pass });
    const document = { workflowId, runId, org, project, pass, cancelRequested: true };
    context.output.result(document, `cancelling the ${pass} of ${projectTitle({ project, name: found.name })}`);
    return exitCodes.done;
  });
}
