import type { Sight } from '../runs/rules/watched.ts';
import type { ActivityDependencies, Organization } from './dependencies.ts';
import { listedSites } from './listed-sites.ts';

type TakenBack = NonNullable<Sight['takenBack']>;

/**
 * Targets whose last rollout put the current version there, but that run another one now, as read back from them. A
 * target that shows no version is left out: it may be on another machine. Only a target that differs from the listing
 * costs requests to the store, which say what is current now: a rollout may have followed the listing.
 */
export async function takenBackTargets(
  deps: Pick<ActivityDependencies, 'bundles' | 'organizations'>,
  organization: Organization,
): Promise<TakenBack> {
  const { bundles } = deps;
  const listed = await listedSites(deps, organization);
  const found: TakenBack = [];
  for (const { domain, targets } of organization.sites) {
    const listedVersion = listed.get(domain)?.current;
    if (!listedVersion) continue;
    for (const target of targets) {
      const running = await target.runningVersion();
      if (running === null || running === listedVersion) continue;
      const version = (await bundles.current(domain))?.version;
      if (version === undefined || running === version) continue;
      if ((await bundles.rolledOut(domain, target.name)) !== version) continue;
      found.push({ domain, target: target.name, version, running });
    }
  }
  return found;
}
