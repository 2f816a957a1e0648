import type { Settings } from './settings.ts';

/** Admin keys begin like this (service-interface.md, Authentication). */
export const keyPrefix = 'dk_admin_';

export interface ProjectOptions {
  id: string;
  /** These three default to the settings of the same names. */
  entries?: number;
  order?: 'newest' | 'oldest';
  openShare?: number;
}

export interface SiteOptions {
  domain: string;
  /** These two default to the settings of the same names. */
  pages?: number;
  padBytes?: number;
}

export interface OrganizationOptions {
  id: string;
  /** Default: one made of the id. */
  apiKey?: string;
  projects?: readonly ProjectOptions[];
  domains?: readonly (string | SiteOptions)[];
  /** Static export needs `enterprise`, the default. */
  plan?: 'enterprise' | 'basic';
}

export interface Organization {
  id: string;
  apiKey: string;
  projects: Required<ProjectOptions>[];
  sites: Required<SiteOptions>[];
  plan: 'enterprise' | 'basic';
}

export const defaultOrganizations: readonly OrganizationOptions[] = [
  { id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example'] },
];

/** Fills in the defaults. Throws an Error when a key, project or domain is not unique or a key lacks the prefix. */
export function resolveOrganizations(given: readonly OrganizationOptions[], settings: Settings): Organization[] {
  const organizations = given.map((organization) => resolveOrganization(organization, settings));
  requireUnique('organization', organizations, ({ id }) => [id]);
  requireUnique('key of organization', organizations, ({ apiKey }) => [apiKey]);
  requireUnique('project', organizations, ({ projects }) => projects.map(({ id }) => id));
  requireUnique('domain', organizations, ({ sites }) => sites.map(({ domain }) => domain));
  return organizations;
}

function resolveOrganization(given: OrganizationOptions, settings: Settings): Organization {
  const apiKey = given.apiKey ?? `${keyPrefix}sandbox_${given.id}_planted_key`;
  if (!apiKey.startsWith(keyPrefix)) throw new Error(`the key of organization ${given.id} must begin ${keyPrefix}`);
  const { entries, order, openShare, pages, padBytes } = settings;
  return {
    id: given.id,
    apiKey,
    plan: given.plan ?? 'enterprise',
    projects: (given.projects ?? []).map((project) => ({ entries, order, openShare, ...project })),
    sites: (given.domains ?? []).map((site) => ({
      pages,
      padBytes,
      ...(typeof site === 'string' ? { domain: site } : site),
    })),
  };
}

function requireUnique(
  what: string,
  organizations: readonly Organization[],
  namesOf: (organization: Organization) => readonly string[],
): void {
  const seen = new Set<string>();
  for (const organization of organizations) {
    for (const name of namesOf(organization)) {
      if (seen.has(name)) throw new Error(`${what} ${what.startsWith('key') ? organization.id : name} is listed twice`);
      seen.add(name);
    }
  }
}
