import { type Command, Option } from 'commander';
import type { Config } from '../../../config/config.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { noSuchThing } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import { reasonFlag } from '../../input/reason-flag.ts';
import { type WaitFlags, waitTimeout } from '../../input/wait-options.ts';
import { onInterrupt } from '../../terminal/signals.ts';

interface RollbackFlags extends WaitFlags {
  reason?: string;
  onRunning: 'cancel' | 'refuse';
}

export function addExportRollback(parent: Command, run: RunCommand): void {
  parent
    .command('rollback')
    .description('Put a kept version back into service at all targets, and hold the site there; asks no service')
    .argument('<domain>', 'domain of a configured site')
    .argument('<version>', 'a version that `export versions` lists')
    .option('--wait', 'wait for the end and show how it goes; Ctrl-C stops the waiting only')
    .option('--timeout <duration>', 'wait no longer than this, e.g. 30m (then exit code 5)')
    .option('--reason <text>', 'why, for those who see that the site is held')
    .addOption(
      new Option('--on-running <how>', 'when an export of the domain runs')
        .choices(['cancel', 'refuse'])
        .default('cancel'),
    )
    .addHelpText(
      'after',
      '\nExports go on meanwhile and publish versions, but put none of them into service until `export release`.',
    )
    .action((domain: string, version: string, flags: RollbackFlags) =>
      run((context) => rollback(context, domain, version, flags)),
    );
}

async function rollback(
  context: CommandContext,
  domain: string,
  version: string,
  flags: RollbackFlags,
): Promise<ExitCode> {
  const timeoutMs = waitTimeout(flags);
  const reason = reasonFlag(flags.reason);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  const { isStoreName } = await import('../../../bundle/store/store-names.ts');
  if (!isStoreName(version)) {
    throw noSuchThing(
      'NoSuchVersion',
      `${JSON.stringify(version.slice(0, 80))} is no version's name`,
      'see `docferry export versions`',
    );
  }
  const { startRollback } = await import('../../../client/start-rollback.ts');
  const { askWorker } = await import('../../temporal/ask-worker.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { output } = context;
  return withTemporal(config, async (session) => {
    const input = { org, domain: site.domain, version, reason };
    const interrupt = flags.wait ? onInterrupt() : undefined;
    const { client } = session;
    const { taskQueue } = config.temporal;
    const { handle, joined, cancelled } = await startRollback(client, taskQueue, input, {
      onRunning: flags.onRunning,
      askWorker: (ask) => askWorker(client, taskQueue, ask),
      beforeCancel: () => requireVersion(config, site.domain, version),
    });
    if (cancelled) output.note(`cancelled the export of ${site.domain} that was running`);
    if (!flags.wait) {
      const { workflowId } = handle;
      const { runId } = await handle.describe();
      const document = { workflowId, runId, org, domain: site.domain, version, joined, cancelledExport: cancelled };
      output.result(document, `started: ${workflowId}\nfollow it with \`docferry export watch ${site.domain}\``);
      return exitCodes.done;
    }
    const { watchExport } = await import('./watch-export.ts');
    return watchExport(context, session, { org, domain: site.domain, handle, timeoutMs, interrupt });
  });
}

/** A running export is not cancelled for a version that is not there. */
async function requireVersion(config: Config, domain: string, version: string): Promise<void> {
  const { openBundleStore } = await import('../../../wiring/open-bundle-store.ts');
  const { NoSuchVersion } = await import('../../../bundle/store/bundle-store.ts');
  const store = await openBundleStore(config.store.bundles);
  await store.manifest(domain, version).catch((error: unknown) => {
    if (!(error instanceof NoSuchVersion)) throw error;
    const hint = 'the running export goes on; `docferry export versions` lists what is there';
    throw noSuchThing('NoSuchVersion', `${error.message} in ${store.place}`, hint);
  });
}
