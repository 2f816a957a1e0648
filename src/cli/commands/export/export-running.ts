import { randomUUID } from 'node:crypto';
import { exportHandle, pollNow } from '../../../operations/exports.ts';
import { cancelledRun, doneBy } from '../../../runs/rules/own-audit-entries.ts';
import { type ActorFlags, addActorFlag, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { writeAudit } from '../../audit.ts';
import { cancelExports } from '../../bulk.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { duration, siteHelp, type WaitFlags, waitTimeout } from '../../flags.ts';
import { findSite, isBulk } from '../../selection.ts';
import { requireRunning, withTemporal } from '../../session.ts';
import { askWorker } from '../../waiting.ts';
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
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  return withTemporal(config, async (session) => {
    const { client } = session;
    const { workflowId } = exportHandle(client, org, domain);
    const running = await requireRunning(client.workflow.getHandle(workflowId), `export of ${domain}`);
    // This run: a schedule may start the next one as soon as it ends.
    const handle = client.workflow.getHandle<AwaitedWorkflow>(workflowId, running.runId);
    return waitForExport(context, session, { org, domain, handle, timeoutMs });
  });
}

async function cancelExport(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return cancelExports(context, flags);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  return withTemporal(config, async ({ client }) => {
    const handle = exportHandle(client, org, domain);
    const { workflowId, runId } = await requireRunning(handle, `export of ${domain}`);
    await handle.cancel();
    await writeAudit(context, config, flags, [cancelledRun({ kind: 'export', org, domain }, runId)]);
    const document = { workflowId, runId, org, domain, cancelRequested: true };
    context.output.result(document, `cancelling the export of ${domain}`);
    return exitCodes.done;
  });
}

async function pollAtOnce(context: CommandContext, name: string, flags: ActorFlags): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  return withTemporal(config, async ({ client }) => {
    const { workflowId, runId } = await requireRunning(exportHandle(client, org, domain), `export of ${domain}`);
    const { taskQueue } = config.temporal;
    const { phase, progress } = await askWorker(client, taskQueue, () => pollNow(client, org, domain));
    await writeAudit(context, config, flags, [doneBy(randomUUID(), 'poll-now', { kind: 'export', org, domain })]);
    const document = { workflowId, runId, org, domain, phase, polls: progress?.polls ?? 0 };
    context.output.result(document, `asking for the job of ${domain} now`);
    return exitCodes.done;
  });
}
