import type { BundleStore, InService } from '../exports/store/bundle-store.ts';
import type { ActivityDependencies, Organization } from './dependencies.ts';

/** Looks of many organizations within this time share one listing. */
const sharedMs = 30_000;
/** Of one store, the latest. */
const listings = new WeakMap<BundleStore, { at: number; found: Promise<ReadonlyMap<string, InService>> }>();

/**
 * What the sites of all organizations have in service, and which are held: one listing costs no request a site, and the
 * looks of many organizations share it. It may be half a minute old.
 */
export async function listedSites(
  { bundles, organizations }: Pick<ActivityDependencies, 'bundles' | 'organizations'>,
  { watch }: Pick<Organization, 'watch'>,
): Promise<ReadonlyMap<string, InService>> {
  const before = listings.get(bundles);
  const isFresh = before !== undefined && Date.now() - before.at < Math.min(sharedMs, watch.everyMs);
  return (isFresh ? before : list(bundles, organizations)).found;
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
