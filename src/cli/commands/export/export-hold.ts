import { randomUUID } from 'node:crypto';
import { NoSuchVersion } from '../../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { doneBy } from '../../../runs/rules/own-audit-entries.ts';
import { addActorFlag, addActorFlags, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { writeAudit } from '../../audit.ts';
import { holdSites, releaseSites } from '../../bulk.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, noSuchThing } from '../../failure.ts';
import { reason, siteHelp } from '../../flags.ts';
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

async function releaseSite(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
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
