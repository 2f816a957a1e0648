import { randomUUID } from 'node:crypto';
import { NoSuchVersion } from '../../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { doneBy } from '../../../runs/rules/own-audit-entries.ts';
import type { BulkFlags } from '../../actor.ts';
import { writeAudit } from '../../audit.ts';
import { holdSites } from '../../bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, noSuchThing } from '../../failure.ts';
import { findSite, isBulk } from '../../selection.ts';

export default async function holdSite(
  context: CommandContext,
  name: string | undefined,
  flags: BulkFlags,
): Promise<ExitCode> {
  const { reason = null } = flags;
  if (isBulk(name, flags, 'domain')) return holdSites(context, flags, reason);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  const store = await openBundleStore(config.store.bundles);
  const hold = await store.holds.place(domain, { version: null, reason, at: new Date() }).catch((error: unknown) => {
    if (!(error instanceof NoSuchVersion)) throw error;
    const hint = "run this where the workers' store is, once a version is published";
    throw noSuchThing('NoSuchVersion', `${error.message} in ${store.place}`, hint);
  });
  const entry = doneBy(randomUUID(), 'hold', { kind: 'export', org, domain }, { version: hold.version });
  await writeAudit(context, config, flags, [entry]);
  const text = `${domain} is held at ${hold.version}; \`docferry export release ${domain}\` ends that`;
  context.output.result({ domain, held: hold.version, hold }, text);
  return exitCodes.done;
}
