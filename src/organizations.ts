import type { Organization, Site } from './activities/dependencies.ts';
import type { Config, SiteConfig } from './config/config.ts';
import { rolloutTargets } from './rollout-targets.ts';
import { createDocumentationService } from './service/client.ts';

/** Organizations of the configuration with their service clients and rollout targets. */
export function organizationsOf(config: Config): Organization[] {
  return config.organizations.map((organization) => ({
    id: organization.id,
    service: createDocumentationService({
      baseUrl: config.service.baseUrl,
      analyticsBaseUrl: config.service.analyticsBaseUrl,
      allowInsecure: config.service.allowInsecure,
      apiKey: () => organization.apiKey.read(),
      timeouts: timeoutsFor(organization.budget.arrivalMs),
    }),
    projects: organization.projects.map((project) => project.id),
    sites: organization.sites.map((site) => siteOf(site, config.store.bundles.publicUrl)),
  }));
}

/** Nothing of a request is on its way any more after D: whatever is not answered by then is broken off (DESIGN B1). */
function timeoutsFor(arrivalMs: number) {
  return { connectMs: 10_000, firstByteMs: Math.min(30_000, arrivalMs), overallMs: 60_000 };
}

function siteOf(site: SiteConfig, publicUrl: string): Site {
  return {
    domain: site.domain,
    jobTimeoutMs: site.job.timeoutMs,
    jobAttempts: site.job.attempts,
    maxBytes: site.bundle.maxBytes,
    maxFiles: site.bundle.maxFiles,
    connections: site.bundle.connections,
    downloadTimeoutMs: site.bundle.timeoutMs,
    siteRules: site.bundle.rules,
    targets: rolloutTargets(site, publicUrl),
  };
}
