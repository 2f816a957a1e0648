import { type ActorFlags, addActorFlag } from '../../actor.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { findVersion } from '../../find-version.ts';
import { addWaitFlags, onRunning, reason, siteHelp, type WaitFlags, waitTimeout } from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { findSite } from '../../selection.ts';
import { onInterrupt } from '../../terminal/prompts.ts';
import { waitForExport } from './wait-for-export.ts';

export default {
  rollback: (command, run) => {
    command
      .argument('<domain>', siteHelp)
      .argument('<version>', 'a version that `export versions` lists, a unique prefix of it, or previous');
    addActorFlag(addWaitFlags(command))
      .option('--reason <text>', 'why; shown with the hold', reason)
      .addOption(onRunning('when an export of the domain is running', ['cancel', 'refuse']))
      .addHelpText(
        'after',
        '\nUntil `export release`, exports still publish versions but put none of them into service.',
      )
      .action(run(rollBack));
  },
} satisfies CommandFile;

interface RollbackFlags extends WaitFlags, ActorFlags {
  onRunning: 'cancel' | 'refuse';
}

async function rollBack(
  context: CommandContext,
  name: string,
  wanted: string,
  flags: RollbackFlags,
): Promise<ExitCode> {
  const timeoutMs = waitTimeout(flags);
  const { output } = context;
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const version = await findVersion(await operator.installation.bundles(), domain, wanted);
    const client = await operator.installation.temporal();
    const interrupt = flags.wait ? onInterrupt() : undefined;
    const { handle, joined, cancelled } = await operator.rollBack({ org, domain }, version, flags.onRunning);
    if (cancelled) output.note(`cancelled the running export of ${domain}`);
    if (!flags.wait) {
      const { workflowId } = handle;
      const { runId } = await handle.describe();
      const document = { workflowId, runId, org, domain, version, joined, cancelledExport: cancelled };
      output.result(document, `started: ${workflowId}\nfollow it with \`docferry export watch ${domain}\``);
      return exitCodes.done;
    }
    return waitForExport(context, { config, client }, { org, domain, handle, timeoutMs, interrupt });
  });
}
