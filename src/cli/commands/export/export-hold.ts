import { addActorFlag, addActorFlags, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { holdSites, releaseSites } from '../../bulk.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { reason, siteHelp } from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { findSite, isBulk } from '../../selection.ts';

export default {
  hold: (command, run) =>
    addActorFlag(addBulkFlags(command.argument('[domain]', siteHelp), 'sites'))
      .option('--reason <text>', 'why; shown with the hold', reason)
      .addHelpText('after', '\nWorks on the bundle store, without Temporal: run it where that store is.')
      .action(run(holdSite)),
  release: (command, run) =>
    addActorFlags(addBulkFlags(command.argument('[domain]', siteHelp), 'sites'))
      .addHelpText('after', '\nDoes not change what is in service. Works on the bundle store, without Temporal.')
      .action(run(releaseSite)),
} satisfies CommandFile;

async function holdSite(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return holdSites(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const hold = await operator.hold({ org, domain });
    const text = `${domain} is held at ${hold.version}; \`docferry export release ${domain}\` ends that`;
    context.output.result({ domain, held: hold.version, hold }, text);
    return exitCodes.done;
  });
}

async function releaseSite(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return releaseSites(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const released = await operator.release({ org, domain });
    const { version, waiting } = released;
    const next =
      waiting === null
        ? 'the next export decides what is in service'
        : `${waiting} waited; \`docferry export start ${domain}\` puts what is new into service`;
    const text = `${domain} is no longer held at ${version}; ${next}`;
    context.output.result({ domain, held: null, released }, text);
    return exitCodes.done;
  });
}
