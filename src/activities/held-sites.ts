import type { ActivityDependencies, Organization } from './dependencies.ts';
import { listedSites } from './listed-sites.ts';

export interface HeldSite {
  domain: string;
  version: string;
  since: string;
  waiting: string | null;
}

/** The sites of an organization that people hold. The listing says which may be held; only these are read. */
export async function heldSites(
  deps: Pick<ActivityDependencies, 'bundles' | 'organizations'>,
  organization: Organization,
): Promise<HeldSite[]> {
  const listed = await listedSites(deps, organization);
  const held: HeldSite[] = [];
  for (const { domain } of organization.sites) {
    const hold = listed.get(domain)?.held ? await deps.bundles.holds.of(domain) : null;
    if (hold !== null) held.push({ domain, version: hold.version, since: hold.since, waiting: hold.waiting });
  }
  return held;
}
