import type { Command } from 'commander';
import { Minimatch } from 'minimatch';
import type { Config, OrganizationConfig, SiteConfig } from '../config/config.ts';
import type { Selection } from '../operations/status.ts';
import { naturalOrder, nearestName } from '../rules/text.ts';
import { noSuchThing, usageFailure } from './failure.ts';
import type { ActorFlags } from './operator.ts';

/** `--org` and `--match`, which select from the configuration. */
export interface SelectionFlags {
  org?: string;
  match?: string;
}

export function addSelectionFlags(command: Command, what: string): Command {
  return command
    .option('--org <org>', `only ${what} of this organization`)
    .option('--match <glob>', `only ${what} whose name matches, e.g. 'docs*.acme.example' or 'acme/*'`);
}

/** Flags of commands that take one name, or many by these. */
export interface BulkFlags extends SelectionFlags, ActorFlags {
  all?: boolean;
  yes?: boolean;
}

/** @param what `sites` or `projects` */
export function addBulkFlags(command: Command, what: string): Command {
  return command
    .option('--all', `all configured ${what} instead of one`)
    .option('--org <org>', `all ${what} of this organization`)
    .option('--match <glob>', `all ${what} whose name matches, e.g. 'docs*.acme.example' or 'acme/*'`)
    .option('--yes', 'with --all, --org or --match: do what is planned without asking');
}

/** The site with this domain. A domain belongs to one organization. */
export function findSite(config: Config, named: string): { org: string; domain: string; site: SiteConfig } {
  const sites = config.organizations.flatMap(({ id: org, sites }) =>
    sites.map((site) => ({ org, domain: site.domain, site })),
  );
  const found = sites.find(({ domain }) => domain === named.toLowerCase());
  if (found) return found;
  const domains = sites.map(({ domain }) => domain);
  const hint = suggesting(named, 'configured sites', domains);
  throw noSuchThing('UnknownDomain', `${named} is not a site of ${config.file}`, hint);
}

/** A project as commands name it. */
export interface FoundProject {
  org: string;
  project: string;
  /** For people; absent when the configuration gives none. */
  name?: string;
}

function projectsOf(config: Config): FoundProject[] {
  return config.organizations.flatMap(({ id: org, projects }) =>
    projects.map(({ id: project, name }) => ({ org, project, ...(name !== undefined && { name }) })),
  );
}

/** The project with this id or name, also written `org/id`. A project belongs to one organization. */
export function findProject(config: Config, named: string): FoundProject {
  const projects = projectsOf(config);
  const isNamed = (org: string, id: string | undefined) => id === named || (id && `${org}/${id}` === named);
  const found = projects.find(({ org, project }) => isNamed(org, project));
  if (found) return found;
  const ids = (some: typeof projects) => some.map(({ org, project }) => `${org}/${project}`);
  const [only, ...others] = projects.filter(({ org, name }) => isNamed(org, name));
  if (only && others.length === 0) return only;
  if (only) throw usageFailure(`several projects are called ${named}`, listed('they are', ids([only, ...others])));
  const hint = suggesting(named, 'configured projects', ids(projects));
  throw noSuchThing('UnknownProject', `${named} is not a project of ${config.file}`, hint);
}

/** The named project, or all projects without a name, in natural order. */
export function findProjects(config: Config, named: string | undefined): FoundProject[] {
  if (named !== undefined) return [findProject(config, named)];
  return projectsOf(config).sort((a, b) => naturalOrder(a.org, b.org) || naturalOrder(a.project, b.project));
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
    suggesting(name, 'configured organizations', ids),
  );
}

/** What a person may have meant; what there is where no name is near. */
export function suggesting(written: string, what: string, names: readonly string[]): string {
  const sorted = [...names].sort(naturalOrder);
  const nearest = nearestName(written, sorted);
  return nearest === null ? listed(what, sorted) : `did you mean ${nearest}?`;
}

function listed(what: string, names: readonly string[]): string {
  const shown = names.slice(0, 20).join(', ');
  return `${what}: ${names.length === 0 ? 'none' : shown}${names.length > 20 ? ' …' : ''}`;
}

/** The configured sites and projects that the flags leave. Throws a failure for an unknown organization. */
export function selected(config: Config, { org, match }: SelectionFlags): Selection {
  const organizations = org === undefined ? config.organizations : [findOrganization(config, org)];
  const matches = matcherOf(match);
  return {
    sites: organizations.flatMap(({ id, sites }) =>
      sites.flatMap(({ domain }) => (matches(id, domain) ? [{ org: id, domain }] : [])),
    ),
    projects: organizations.flatMap(({ id, projects }) =>
      projects.flatMap(({ id: project }) => (matches(id, project) ? [{ org: id, project }] : [])),
    ),
  };
}

/** As a name it could match nothing: brackets are in no domain and no id. */
function isUnclosed(glob: string): boolean {
  const bare = glob.replaceAll(/\\.|\[[^[\]]+\]|\{[^{}]*\}/g, '');
  return /[[\]{}]/.test(bare);
}

/** A pattern with a slash is about `organization/name`, any other about the name. Throws a usage failure for a broken one. */
export function matcherOf(glob: string | undefined): (org: string, name: string) => boolean {
  const matches = globOf(glob);
  return glob?.includes('/') ? (org, name) => matches(`${org}/${name}`) : (_org, name) => matches(name);
}

/** What `--match` matches; all without it. Throws a usage failure for a broken pattern. */
export function globOf(glob: string | undefined, nocase = true): (text: string) => boolean {
  if (glob === undefined) return () => true;
  if (isUnclosed(glob)) {
    throw usageFailure(`--match is ${JSON.stringify(glob)}: a bracket in it is not closed`, 'write \\[ for a bracket');
  }
  const pattern = new Minimatch(glob, { dot: true, nocase, nocomment: true, nonegate: true });
  return (text) => pattern.match(text);
}

/** Whether many are meant and not the named one. Throws a usage failure unless exactly one way is given. */
export function isBulk<Name extends string | undefined>(
  name: Name,
  { all, org, match }: BulkFlags,
  what: string,
): name is Name & undefined {
  const chosen = all === true || org !== undefined || match !== undefined;
  if (name !== undefined && chosen) throw usageFailure(`name a ${what}, or give --all, --org or --match, not both`);
  if (name === undefined && !chosen) {
    throw usageFailure(`missing required argument '${what}', or --all, --org or --match`);
  }
  return chosen;
}

/** Throws a usage failure for a flag that only makes sense for one. */
export function refuseInBulk(flags: Readonly<Record<string, unknown>>): void {
  const [given] = Object.entries(flags).find(([, value]) => value !== undefined && value !== false) ?? [];
  if (given !== undefined) throw usageFailure(`${given} is for one, not together with --all, --org or --match`);
}

/** What the flags leave; throws a failure when a pattern matches nothing. */
export function selectedInBulk<Kind extends keyof Selection>(
  config: Config,
  flags: BulkFlags,
  kind: Kind,
): Selection[Kind] {
  const chosen = selected(config, flags)[kind];
  if (chosen.length > 0 || flags.match === undefined) return chosen;
  throw noSuchThing('NothingMatches', `none of the configured ${kind} matches ${JSON.stringify(flags.match)}`);
}
