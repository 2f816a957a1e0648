import { exportOf } from '../../../operations/bulk.ts';
import { runningExport } from '../../../operations/operator.ts';
import { type ActorFlags, addActorFlag, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { cancelExports } from '../../bulk.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { duration, siteHelp, type WaitFlags, waitTimeout } from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { findSite, isBulk } from '../../selection.ts';
import { type AwaitedWorkflow, waitForExport } from './wait-for-export.ts';

export default {
  watch: (command, run) =>
    command
      .argument('<domain>', siteHelp)
      .option('--timeout <duration>', 'watch no longer than this, e.g. 30m (then exit code 5)', duration('--timeout'))
      .action(run(watchExport)),
  cancel: (command, run) =>
    addActorFlag(addBulkFlags(command.argument('[domain]', siteHelp), 'sites')).action(run(cancelExport)),
  'poll-now': (command, run) => addActorFlag(command.argument('<domain>', siteHelp)).action(run(pollAtOnce)),
} satisfies CommandFile;

async function watchExport(
  context: CommandContext,
  name: string,
  flags: Pick<WaitFlags, 'timeout'>,
): Promise<ExitCode> {
  const timeoutMs = waitTimeout({ ...flags, wait: true });
  return withOperator(context, {}, async ({ config, operator: { installation } }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const client = await installation.temporal();
    const { workflowId, runId } = await runningExport(installation, { org, domain });
    // This run: a schedule may start the next one as soon as it ends.
    const handle = client.workflow.getHandle<AwaitedWorkflow>(workflowId, runId);
    return waitForExport(context, { config, client }, { org, domain, handle, timeoutMs });
  });
}

async function cancelExport(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return cancelExports(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const { workflowId, runId } = await operator.cancel(exportOf({ org, domain }));
    const document = { workflowId, runId, org, domain, cancelRequested: true };
    context.output.result(document, `cancelling the export of ${domain}`);
    return exitCodes.done;
  });
}

async function pollAtOnce(context: CommandContext, name: string, flags: ActorFlags): Promise<ExitCode> {
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const { workflowId, runId, state } = await operator.pollNow({ org, domain });
    const document = { workflowId, runId, org, domain, phase: state.phase, polls: state.progress?.polls ?? 0 };
    context.output.result(document, `asking for the job of ${domain} now`);
    return exitCodes.done;
  });
}
