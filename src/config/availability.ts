import type { ConfigInput } from './schema.ts';

/** A problem before its place in the file is looked up. */
export interface Finding {
  path: PropertyKey[];
  message: string;
}

/** What the schema knows but this version cannot do yet; refused, so that nothing is ignored in silence. */
export function findUnavailable(config: ConfigInput): Finding[] {
  const findings: Finding[] = [];
  const refuse = (unavailable: boolean, path: PropertyKey[], what: string) => {
    if (unavailable) findings.push({ path, message: `${what} is not available in this version` });
  };
  for (const [o, organization] of config.organizations.entries()) {
    const at = ['organizations', o];
    for (const [s, site] of organization.sites.entries()) {
      const siteAt = [...at, 'sites', s];
      refuse(site.approval === 'manual', [...siteAt, 'approval'], '"manual"');
      refuse(site.bundle.connections > 1, [...siteAt, 'bundle', 'connections'], 'more than one connection');
    }
  }
  return findings;
}
