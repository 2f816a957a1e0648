import { type Command, Option } from 'commander';
import { type ReadingKind, readingKinds } from '../../../model/sync/pass-kind.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findProject } from '../../input/find-configured.ts';

export function addFeedbackCancel(parent: Command, run: RunCommand): void {
  parent
    .command('cancel')
    .description('Cancel a running pass of a project; what it has read stays')
    .argument('<project>', 'id of a configured project, or org/project')
    .addOption(new Option('--pass <kind>', 'which pass').choices(readingKinds).makeOptionMandatory())
    .action((project: string, { pass }: { pass: ReadingKind }) => run((context) => cancel(context, project, pass)));
}

async function cancel(context: CommandContext, name: string, pass: ReadingKind): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { org, project } = findProject(config, name);
  const { syncHandle } = await import('../../../client/syncs.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { requireRunning } = await import('../../temporal/running-workflow.ts');
  return withTemporal(config, async ({ client }) => {
    const handle = syncHandle(client, { org, project: project.id, pass });
    const { runId } = await requireRunning(handle, `${pass} of ${project.id}`);
    await handle.cancel();
    const document = { workflowId: handle.workflowId, runId, org, project: project.id, pass, cancelRequested: true };
    context.output.result(document, `cancelling the ${pass} of ${project.id}`);
    return exitCodes.done;
  });
}
