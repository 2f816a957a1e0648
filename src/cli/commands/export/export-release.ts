import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { noSuchThing } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';

export function addExportRelease(parent: Command, run: RunCommand): void {
  parent
    .command('release')
    .description('End a hold: the next export puts new content into service again')
    .argument('<domain>', 'domain of a configured site')
    .addHelpText('after', '\nBy itself it changes nothing in service. Works in the bundle store, without Temporal.')
    .action((domain: string) => run((context) => release(context, domain)));
}

async function release(context: CommandContext, domain: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { site } = findSite(config, domain);
  const { openBundleStore } = await import('../../../wiring/open-bundle-store.ts');
  const store = await openBundleStore(config.store.bundles);
  const released = await store.holds.release(site.domain);
  if (released === null) {
    throw noSuchThing('NotHeld', `${site.domain} is not held in ${store.place}`, 'see `docferry export versions`');
  }
  const next =
    released.waiting === null
      ? 'the next export decides what is in service'
      : `${released.waiting} waited; \`docferry export start ${site.domain}\` puts what is new into service`;
  context.output.result(
    { domain: site.domain, held: null, released },
    `${site.domain} is no longer held at ${released.version}; ${next}`,
  );
  return exitCodes.done;
}
