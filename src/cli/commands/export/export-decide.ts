import { approveExport, exportHandle, exportState, rejectExport } from '../../../operations/exports.ts';
import { actorOf, addActorFlag, addActorFlags, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { approveExports } from '../../bulk.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, operationFailure } from '../../failure.ts';
import { siteHelp } from '../../flags.ts';
import { findSite, isBulk } from '../../selection.ts';
import { requireRunning, withTemporal } from '../../session.ts';
import { askWorker } from '../../waiting.ts';

export default {
  approve: (command, run) => {
    command
      .argument('[domain]', siteHelp)
      .argument('[version]', 'refuse unless this version waits, e.g. the one you have checked');
    addActorFlags(addBulkFlags(command, 'sites'))
      .addHelpText(
        'after',
        '\nFor many sites it approves the versions shown before you confirm, and none published later.',
      )
      .action(run(decideExport, 'approved'));
  },
  reject: (command, run) =>
    addActorFlag(command.argument('<domain>', siteHelp))
      .argument('[version]', 'refuse unless this version waits')
      .requiredOption('--reason <text>', 'why, up to 500 characters; shown in the result and by `export status`')
      .action(run(decideExport, 'rejected')),
} satisfies CommandFile;

/** Tells the running export of a site what a person decided; `reason` is that of a rejection. */
async function decideExport(
  context: CommandContext,
  decision: 'approved' | 'rejected',
  name: string | undefined,
  asked: string | undefined,
  flags: BulkFlags,
): Promise<ExitCode> {
  // A person may approve many versions at once, but each rejection needs its own reason.
  if (decision === 'approved' && isBulk(name, flags, 'domain')) return approveExports(context, flags);
  const reason = flags.reason ?? '';
  const actor = actorOf(flags);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name ?? '');
  const { domain } = site;
  return withTemporal(config, async ({ client }) => {
    const { workflowId, runId } = await requireRunning(exportHandle(client, org, domain), `export of ${domain}`);
    const answer = <Answer>(ask: () => Promise<Answer>) => askWorker(client, config.temporal.taskQueue, ask);
    const version = asked ?? (await answer(() => exportState(client, org, domain))).approval?.version;
    if (version === undefined) throw operationFailure('InvalidInput', 'no version waits for approval');
    if (asked === undefined) context.output.note(`${version} waits`);
    const ask = { org, domain, version };
    await answer(() =>
      decision === 'approved' ? approveExport(client, ask, actor) : rejectExport(client, { ...ask, reason }, actor),
    );
    const document = { workflowId, runId, org, domain, version, decision };
    if (decision === 'approved') context.output.result(document, `approved: ${version} goes into service`);
    else context.output.result({ ...document, reason }, `rejected: ${version} is removed`);
    return exitCodes.done;
  });
}
