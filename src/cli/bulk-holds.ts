import { randomUUID } from 'node:crypto';
import { doneBy } from '../runs/rules/own-audit-entries.ts';
import { openBundleStore } from '../exports/store/open-bundle-store.ts';
import { type CommandContext, loadContextConfig } from './context.ts';
import type { ExitCode } from './exit-codes.ts';
import type { BulkFlags } from './bulk-flags.ts';
import { selectedInBulk } from './is-bulk.ts';
import { runBulk } from './run-bulk.ts';

/** Holds many sites at what each has in service; those held already stay as they are. */
export async function holdSites(context: CommandContext, flags: BulkFlags, reason: string | null): Promise<ExitCode> {
  const { config, store, sites } = await sitesInService(context, flags);
  const free = sites.filter(({ current, held }) => current !== null && held === null);
  const others = sites.filter((site) => !free.includes(site));
  return runBulk(context, config, flags, {
    kind: 'sites',
    verb: 'hold',
    done: 'held',
    items: free,
    left: others.map((item) => ({
      item,
      why: item.held === null ? 'nothing is published' : `it is held at ${item.held}`,
    })),
    lineOf: ({ domain, current }) => (current === null ? domain : `${domain}  ${current}`),
    work: async ({ org, domain }) => {
      const { version, since } = await store.holds.place(domain, { version: null, reason, at: new Date() });
      const deed = doneBy(randomUUID(), 'hold', { kind: 'export', org, domain }, { version });
      return { document: { held: version, since }, deeds: [deed] };
    },
  });
}

/** Ends the holds of many sites. */
export async function releaseSites(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  const { config, store, sites } = await sitesInService(context, flags);
  return runBulk(context, config, flags, {
    kind: 'sites',
    verb: 'release',
    done: 'released',
    items: sites.filter(({ held }) => held !== null),
    left: sites.filter(({ held }) => held === null).map((item) => ({ item, why: 'it is not held' })),
    lineOf: ({ domain, held }) => (held === null ? domain : `${domain}  held at ${held}`),
    work: async ({ org, domain }) => {
      const released = await store.holds.release(domain);
      const version = released?.version;
      const deeds = released ? [doneBy(randomUUID(), 'release', { kind: 'export', org, domain }, { version })] : [];
      return { document: { held: null, released }, deeds };
    },
  });
}

async function sitesInService(context: CommandContext, flags: BulkFlags) {
  const config = await loadContextConfig(context);
  const sites = selectedInBulk(config, flags, 'sites');
  const store = await openBundleStore(config.store.bundles);
  const found = await store.inService(sites.map(({ domain }) => domain));
  const nothing = { current: null, held: null };
  return { config, store, sites: sites.map((site) => ({ ...site, ...(found.get(site.domain) ?? nothing) })) };
}
