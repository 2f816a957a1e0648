import type { Config, OrganizationConfig, ProjectConfig, SiteConfig } from '../../config/config.ts';
import { noSuchThing, usageFailure } from '../failures/cli-failure.ts';

/** The site with this domain. A domain belongs to one organization. */
export function findSite(config: Config, domain: string): { org: string; site: SiteConfig } {
  const sites = config.organizations.flatMap(({ id, sites }) => sites.map((site) => ({ org: id, site })));
  const found = sites.find(({ site }) => site.domain === domain.toLowerCase());
  if (found) return found;
  throw noSuchThing(
    'UnknownDomain',
    `${domain} is not a site of ${config.file}`,
    listed(
      'configured sites',
      sites.map(({ site }) => site.domain),
    ),
  );
}

/** The project with this id, also written `org/id`. A project belongs to one organization. */
export function findProject(config: Config, name: string): { org: string; project: ProjectConfig } {
  const projects = config.organizations.flatMap(({ id, projects }) =>
    projects.map((project) => ({ org: id, project })),
  );
  const found = projects.find(({ org, project }) => project.id === name || `${org}/${project.id}` === name);
  if (found) return found;
  throw noSuchThing(
    'UnknownProject',
    `${name} is not a project of ${config.file}`,
    listed(
      'configured projects',
      projects.map(({ org, project }) => `${org}/${project.id}`),
    ),
  );
}

/** The ids of the named project, or of all projects without a name. */
export function findProjects(config: Config, name: string | undefined): { org: string; project: string }[] {
  if (name !== undefined) {
    const { org, project } = findProject(config, name);
    return [{ org, project: project.id }];
  }
  return config.organizations.flatMap(({ id, projects }) =>
    projects.map((project) => ({ org: id, project: project.id })),
  );
}

/** The organization with this id; without an id the only one. */
export function findOrganization(config: Config, name: string | undefined): OrganizationConfig {
  const ids = config.organizations.map(({ id }) => id);
  const [first, ...others] = config.organizations;
  if (name === undefined && first && others.length === 0) return first;
  if (name === undefined) throw usageFailure('name an organization', listed('configured organizations', ids));
  const found = config.organizations.find(({ id }) => id === name);
  if (found) return found;
  throw noSuchThing(
    'UnknownOrganization',
    `${name} is not an organization of ${config.file}`,
    listed('configured organizations', ids),
  );
}

function listed(what: string, names: readonly string[]): string {
  const shown = names.slice(0, 20).join(', ');
  return `${what}: ${names.length === 0 ? 'none' : shown}${names.length > 20 ? ' …' : ''}`;
}
