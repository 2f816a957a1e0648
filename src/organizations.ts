import type { Organization, Site } from './activities/dependencies.ts';
import type { Config, OrganizationConfig, SiteConfig } from './config/config.ts';
import { rolloutTargets } from './exports/rollout/roll-out-version.ts';
import { refreshedProjects } from './feedback/rules/refresh-run.ts';
import { createDocumentationService, type DocumentationService } from './service/client.ts';

/** Organizations of the configuration with their service clients and rollout targets. */
export function organizationsOf(config: Config): Organization[] {
  return config.organizations.map((organization) => ({
    id: organization.id,
    service: serviceOf(config, organization),
    projects: organization.projects.map((project) => project.id),
    refresh: organization.refresh ? { ...organization.refresh, projects: refreshedProjects(organization) } : null,
    webhooks: organization.webhooks.map(({ name, url, format, secret, events, entries, digest }) => ({
      name,
      format,
      events,
      entries,
      digestMs: digest,
      url: () => url.read(),
      secret: () => secret?.read() ?? null,
      console: config.console.url,
    })),
    watch: watchOf(organization),
    sites: organization.sites.map((site) => siteOf(config, site)),
  }));
}

function watchOf({ watchEveryMs, projects, sites }: OrganizationConfig): Organization['watch'] {
  return {
    everyMs: watchEveryMs,
    freshness: new Map(projects.map(({ id, freshnessMs }) => [id, freshnessMs])),
    lateAfter: new Map(sites.flatMap(({ domain, lateAfterMs: ms }) => (ms === undefined ? [] : [[domain, ms]]))),
  };
}

function serviceOf({ service }: Config, { apiKey, budget }: OrganizationConfig): DocumentationService {
  return createDocumentationService({
    baseUrl: service.baseUrl,
    analyticsBaseUrl: service.analyticsBaseUrl,
    allowInsecure: service.allowInsecure,
    apiKey: () => apiKey.read(),
    // A request that is not answered within D is broken off, so that none arrives later (B1).
    timeouts: { connectMs: 10_000, firstByteMs: Math.min(30_000, budget.arrivalMs), overallMs: 60_000 },
  });
}

function siteOf(config: Config, site: SiteConfig): Site {
  return {
    domain: site.domain,
    jobTimeoutMs: site.job.timeoutMs,
    jobAttempts: site.job.attempts,
    startTimeoutMs: site.job.startTimeoutMs,
    approval: site.approval,
    maxBytes: site.bundle.maxBytes,
    maxFiles: site.bundle.maxFiles,
    connections: site.bundle.connections,
    downloadTimeoutMs: site.bundle.timeoutMs,
    siteRules: site.bundle.rules,
    render: site.bundle.render,
    targets: rolloutTargets(config, site),
  };
}

/** The service with the key of each of these organizations. Throws `ConfigError` without a key. */
export function servicesOf(config: Config, ids: ReadonlySet<string>): Map<string, DocumentationService> {
  const used = config.organizations.filter(({ id }) => ids.has(id));
  for (const { apiKey } of used) apiKey.read();
  return new Map(used.map((organization) => [organization.id, serviceOf(config, organization)]));
}
