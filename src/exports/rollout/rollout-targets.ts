import type { SiteConfig } from '../../config/config.ts';
import { DirectoryTarget } from './directory-target.ts';
import { HelmValuesTarget } from './helm-values-target.ts';
import type { RolloutTarget } from './rollout-target.ts';

/** The site's rollout targets; `publicUrl` is the address under which its bundles are published. */
export function rolloutTargets(site: SiteConfig, publicUrl: string): RolloutTarget[] {
  return site.rollout.map((target) =>
    target.kind === 'directory' ? new DirectoryTarget(target) : new HelmValuesTarget({ ...target, publicUrl }),
  );
}
