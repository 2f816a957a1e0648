import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { noSuchThing } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import { reasonFlag } from '../../input/reason-flag.ts';

export function addExportHold(parent: Command, run: RunCommand): void {
  parent
    .command('hold')
    .description('Keep what is in service until `export release`: exports publish, but put nothing into service')
    .argument('<domain>', 'domain of a configured site')
    .option('--reason <text>', 'why, for those who see that the site is held')
    .addHelpText('after', '\nWorks in the bundle store, without Temporal: run it where that store is.')
    .action((domain: string, flags: { reason?: string }) => run((context) => hold(context, domain, flags)));
}

async function hold(context: CommandContext, domain: string, { reason }: { reason?: string }): Promise<ExitCode> {
  const why = reasonFlag(reason);
  const config = await loadContextConfig(context);
  const { site } = findSite(config, domain);
  const { openBundleStore } = await import('../../../wiring/open-bundle-store.ts');
  const { NoSuchVersion } = await import('../../../bundle/store/bundle-store.ts');
  const store = await openBundleStore(config.store.bundles);
  const request = { version: null, reason: why, at: new Date() };
  const placed = await store.holds.place(site.domain, request).catch((error: unknown) => {
    if (!(error instanceof NoSuchVersion)) throw error;
    const hint = 'hold it where the store of the workers is, once something is published';
    throw noSuchThing('NoSuchVersion', `${error.message} in ${store.place}`, hint);
  });
  context.output.result(
    { domain: site.domain, held: placed.version, hold: placed },
    `${site.domain} is held at ${placed.version}; \`docferry export release ${site.domain}\` ends that`,
  );
  return exitCodes.done;
}
