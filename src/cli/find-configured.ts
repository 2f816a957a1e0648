import type { Config, OrganizationConfig, ProjectConfig, SiteConfig } from '../config/config.ts';
import { naturalOrder } from '../rules/natural-order.ts';
import { noSuchThing, usageFailure } from './cli-failure.ts';

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

/** The project with this id or name, also written `org/id`. A project belongs to one organization. */
export function findProject(config: Config, name: string): { org: string; project: ProjectConfig } {
  const projects = config.organizations.flatMap(({ id, projects }) =>
    projects.map((project) => ({ org: id, project })),
  );
  const found = projects.find(({ org, project }) => project.id === name || `${org}/${project.id}` === name);
  if (found) return found;
  const ids = (some: typeof projects) => some.map(({ org, project }) => `${org}/${project.id}`);
  const [named, ...others] = projects.filter(
    ({ org, project }) => project.name === name || (project.name && `${org}/${project.name}` === name),
  );
  if (named && others.length === 0) return named;
  if (named) throw usageFailure(`several projects are called ${name}`, listed('they are', ids([named, ...others])));
  throw noSuchThing(
    'UnknownProject',
    `${name} is not a project of ${config.file}`,
    listed('configured projects', ids(projects)),
  );
}

/** A project as commands list it. */
export interface FoundProject {
  org: string;
  project: string;
  /** For people; absent when the configuration gives none. */
  name?: string;
}

/** The named project, or all projects without a name, in natural order. */
export function findProjects(config: Config, name: string | undefined): FoundProject[] {
  const listedOf = (org: string, { id, name: title }: ProjectConfig): FoundProject => ({
    org,
    project: id,
    ...(title !== undefined && { name: title }),
  });
  if (name !== undefined) {
    const { org, project } = findProject(config, name);
    return [listedOf(org, project)];
  }
  return config.organizations
    .flatMap(({ id, projects }) => projects.map((project) => listedOf(id, project)))
    .sort((a, b) => naturalOrder(a.org, b.org) || naturalOrder(a.project, b.project));
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
  const shown = [...names].sort(naturalOrder).slice(0, 20).join(', ');
  return `${what}: ${names.length === 0 ? 'none' : shown}${names.length > 20 ? ' …' : ''}`;
}
