import { randomUUID } from 'node:crypto';
import { doneBy } from '../../../runs/rules/own-audit-entries.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { releaseSites } from '../../bulk-holds.ts';
import { isBulk } from '../../is-bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { noSuchThing } from '../../cli-failure.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import type { BulkFlags } from '../../bulk-flags.ts';
import { findSite } from '../../find-configured.ts';
import { keepDeeds } from '../../audit.ts';

export default async function releaseSite(
  context: CommandContext,
  name: string | undefined,
  flags: BulkFlags,
): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return releaseSites(context, flags);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  const store = await openBundleStore(config.store.bundles);
  const released = await store.holds.release(domain);
  if (released === null) {
    throw noSuchThing('NotHeld', `${domain} is not held in ${store.place}`, 'see `docferry export versions`');
  }
  const deed = doneBy(randomUUID(), 'release', { kind: 'export', org, domain }, { version: released.version });
  await keepDeeds(context, config, flags, [deed]);
  const next =
    released.waiting === null
      ? 'the next export decides what is in service'
      : `${released.waiting} waited; \`docferry export start ${domain}\` puts what is new into service`;
  context.output.result(
    { domain, held: null, released },
    `${domain} is no longer held at ${released.version}; ${next}`,
  );
  return exitCodes.done;
}
