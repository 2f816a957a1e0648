import { Option } from 'commander';
import { type ReadingKind, readingKinds } from '../../../feedback/rules/pass-bounds.ts';
import { syncHandle } from '../../../operations/syncs.ts';
import { cancelledRun } from '../../../runs/rules/own-audit-entries.ts';
import { addActorFlag, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { writeAudit } from '../../audit.ts';
import { cancelSyncs } from '../../bulk.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, usageFailure } from '../../failure.ts';
import { projectHelp } from '../../flags.ts';
import { findProject, isBulk } from '../../selection.ts';
import { requireRunning, withTemporal } from '../../session.ts';
import { projectTitle } from '../../terminal/text.ts';

export default {
  cancel: (command, run) => {
    command
      .argument('[project]', projectHelp)
      .addOption(
        new Option('--pass <kind>', 'which pass; with several projects, all by default').choices(readingKinds),
      );
    addActorFlag(addBulkFlags(command, 'projects')).action(run(cancelPass));
  },
} satisfies CommandFile;

async function cancelPass(
  context: CommandContext,
  name: string | undefined,
  flags: BulkFlags & { pass?: ReadingKind },
): Promise<ExitCode> {
  if (isBulk(name, flags, 'project')) return cancelSyncs(context, flags);
  const { pass } = flags;
  if (pass === undefined) throw usageFailure('name the pass to cancel: --pass <kind>');
  const config = await loadContextConfig(context);
  const { org, project } = findProject(config, name);
  return withTemporal(config, async ({ client }) => {
    const handle = syncHandle(client, { org, project: project.id, pass });
    const { runId } = await requireRunning(handle, `${pass} of ${project.id}`);
    await handle.cancel();
    const target = { kind: 'sync' as const, org, project: project.id, pass };
    await writeAudit(context, config, flags, [cancelledRun(target, runId)]);
    const document = { workflowId: handle.workflowId, runId, org, project: project.id, pass, cancelRequested: true };
    context.output.result(
      document,
      `cancelling the ${pass} of ${projectTitle({ project: project.id, name: project.name })}`,
    );
    return exitCodes.done;
  });
}
