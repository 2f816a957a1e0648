import type { BundleStore, InService } from '../../bundle/store/bundle-store.ts';
import type { ActivityDependencies, Organization } from '../dependencies.ts';

export interface HeldSite {
  domain: string;
  version: string;
  since: string;
  waiting: string | null;
}

/** Looks of many organizations within this time share one listing. */
const sharedMs = 30_000;
/** Of one store: a hold is read once a site. */
const listings = new WeakMap<BundleStore, { at: number; found: Promise<ReadonlyMap<string, InService>> }>();

/**
 * The sites of an organization that people hold. A listing of all sites, which costs no request a site, says which may be
 * held; only these are read.
 */
export async function heldSites(
  { bundles, organizations }: Pick<ActivityDependencies, 'bundles' | 'organizations'>,
  { sites, watch }: Organization,
): Promise<HeldSite[]> {
  const before = listings.get(bundles);
  const isFresh = before !== undefined && Date.now() - before.at < Math.min(sharedMs, watch.everyMs);
  const listing = isFresh ? before : list(bundles, organizations);
  const listed = await listing.found;
  const held: HeldSite[] = [];
  for (const { domain } of sites) {
    const hold = listed.get(domain)?.held ? await bundles.holds.of(domain) : null;
    if (hold !== null) held.push({ domain, version: hold.version, since: hold.since, waiting: hold.waiting });
  }
  return held;
}

function list(bundles: BundleStore, organizations: readonly Organization[]) {
  const domains = organizations.flatMap(({ sites }) => sites.map(({ domain }) => domain));
  const listing = { at: Date.now(), found: bundles.inService(domains) };
  listings.set(bundles, listing);
  listing.found.catch(() => {
    if (listings.get(bundles) === listing) listings.delete(bundles);
  });
  return listing;
}
