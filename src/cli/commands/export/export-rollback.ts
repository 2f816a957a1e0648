import type { Config } from '../../../config/config.ts';
import { NoSuchVersion } from '../../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { startRollback } from '../../../operations/exports.ts';
import { failoverFor } from '../../../temporal/connection.ts';
import { type ActorFlags, actorOf, addActorFlag } from '../../actor.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, noSuchThing } from '../../failure.ts';
import { findVersion } from '../../find-version.ts';
import { addWaitFlags, onRunning, reason, siteHelp, type WaitFlags, waitTimeout } from '../../flags.ts';
import { findSite } from '../../selection.ts';
import { withTemporal } from '../../session.ts';
import { onInterrupt } from '../../terminal/prompts.ts';
import { askWorker } from '../../waiting.ts';
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
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  const version = await findVersion(await openBundleStore(config.store.bundles), domain, wanted);
  const { output } = context;
  return withTemporal(config, async (session) => {
    const { client } = session;
    const failover = failoverFor(config.temporal);
    const input = { org, domain, version, reason: flags.reason ?? null, who: actorOf(flags).who, failover };
    const interrupt = flags.wait ? onInterrupt() : undefined;
    const { taskQueue } = config.temporal;
    const { handle, joined, cancelled } = await startRollback(client, taskQueue, input, {
      onRunning: flags.onRunning,
      askWorker: (ask) => askWorker(client, taskQueue, ask),
      beforeCancel: () => requireVersion(config, domain, version),
    });
    if (cancelled) output.note(`cancelled the running export of ${domain}`);
    if (!flags.wait) {
      const { workflowId } = handle;
      const { runId } = await handle.describe();
      const document = { workflowId, runId, org, domain, version, joined, cancelledExport: cancelled };
      output.result(document, `started: ${workflowId}\nfollow it with \`docferry export watch ${domain}\``);
      return exitCodes.done;
    }
    return waitForExport(context, session, { org, domain, handle, timeoutMs, interrupt });
  });
}

/** A running export is not cancelled for a version that does not exist. */
async function requireVersion(config: Config, domain: string, version: string): Promise<void> {
  const store = await openBundleStore(config.store.bundles);
  await store.manifest(domain, version).catch((error: unknown) => {
    if (!(error instanceof NoSuchVersion)) throw error;
    const hint = 'the running export goes on; `docferry export versions` lists the versions';
    throw noSuchThing('NoSuchVersion', `${error.message} in ${store.place}`, hint);
  });
}
