import type { Organization } from './activities/dependencies.ts';
import type { Config, OrganizationConfig } from './config/config.ts';
import { rolloutTargets } from './exports/rollout/roll-out-version.ts';
import { refreshedProjects } from './feedback/rules/sync.ts';
import { createDocumentationService, type DocumentationService } from './service/client.ts';

/** Organizations of the configuration with their service clients and rollout targets. */
export function organizationsOf(config: Config): Organization[] {
  return config.organizations.map((organization) => ({
    id: organization.id,
    service: serviceOf(config, organization),
    projects: organization.projects,
    refresh: organization.refresh ? { ...organization.refresh, projects: refreshedProjects(organization) } : null,
    webhooks: organization.webhooks.map(({ url, secret, ...webhook }) => ({
      ...webhook,
      url: () => url.read(),
      secret: () => secret?.read() ?? null,
      console: config.console.url,
    })),
    watchEveryMs: organization.watchEveryMs,
    sites: organization.sites.map((site) => ({ ...site, targets: rolloutTargets(config, site) })),
  }));
}

function serviceOf({ service }: Config, { apiKey, budget }: OrganizationConfig): DocumentationService {
  return createDocumentationService({
    baseUrl: service.baseUrl,
    analyticsBaseUrl: service.analyticsBaseUrl,
    allowInsecure: service.allowInsecure,
    apiKey: () => apiKey.read(),
    arrivalMs: budget.arrivalMs,
  });
}

/** The service with the key of each of these organizations. Throws `ConfigError` without a key. */
export function servicesOf(config: Config, ids: ReadonlySet<string>): Map<string, DocumentationService> {
  const used = config.organizations.filter(({ id }) => ids.has(id));
  for (const { apiKey } of used) apiKey.read();
  return new Map(used.map((organization) => [organization.id, serviceOf(config, organization)]));
}
