import { runningExport, waitingVersion } from '../../../operations/operator.ts';
import { addActorFlag, addActorFlags, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { approveExports } from '../../bulk.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes, operationFailure } from '../../failure.ts';
import { siteHelp } from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { findSite, isBulk } from '../../selection.ts';

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

/** Sends a person's decision to the running export of a site. */
async function decideExport(
  context: CommandContext,
  decision: 'approved' | 'rejected',
  name: string | undefined,
  asked: string | undefined,
  flags: BulkFlags,
): Promise<ExitCode> {
  // A person may approve many versions at once, but each rejection needs its own reason.
  if (decision === 'approved' && isBulk(name, flags, 'domain')) return approveExports(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name ?? '');
    const { domain } = site;
    const { workflowId, runId } = await runningExport(operator.installation, { org, domain });
    const version = asked ?? (await waitingVersion(operator.installation, { org, domain }));
    if (version === null) throw operationFailure('InvalidInput', 'no version waits for approval');
    if (asked === undefined) context.output.note(`${version} waits`);
    const document = { workflowId, runId, org, domain, version, decision };
    if (decision === 'approved') {
      await operator.approve({ org, domain }, version);
      context.output.result(document, `approved: ${version} goes into service`);
    } else {
      await operator.reject({ org, domain }, version);
      context.output.result({ ...document, reason: flags.reason ?? '' }, `rejected: ${version} is removed`);
    }
    return exitCodes.done;
  });
}
