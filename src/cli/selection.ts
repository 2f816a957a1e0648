import { Minimatch } from 'minimatch';
import type { Config } from '../config/config.ts';
import type { Selection } from '../operations/status-lines.ts';
import { findOrganization } from './find-configured.ts';
import type { SelectionFlags } from './selection-flags.ts';

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

/** A pattern with a slash is about `organization/name`, any other about the name. */
export function matcherOf(glob: string | undefined): (org: string, name: string) => boolean {
  if (glob === undefined) return () => true;
  const pattern = new Minimatch(glob, { dot: true, nocase: true, nocomment: true, nonegate: true });
  return glob.includes('/') ? (org, name) => pattern.match(`${org}/${name}`) : (_org, name) => pattern.match(name);
}
