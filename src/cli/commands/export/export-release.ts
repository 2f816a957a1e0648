import { randomUUID } from 'node:crypto';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { doneBy } from '../../../runs/rules/own-audit-entries.ts';
import type { BulkFlags } from '../../actor.ts';
import { writeAudit } from '../../audit.ts';
import { releaseSites } from '../../bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, noSuchThing } from '../../failure.ts';
import { findSite, isBulk } from '../../selection.ts';

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
  const entry = doneBy(randomUUID(), 'release', { kind: 'export', org, domain }, { version: released.version });
  await writeAudit(context, config, flags, [entry]);
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
