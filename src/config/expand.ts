/** A mapping of the file. */
type Mapping = Readonly<Record<string, unknown>>;

/** A schedule is one value: `cron` of an entry must not meet `every` of the default. */
const whole = 'schedule';

/** An entry with its defaults: mappings merge by field, everything else of its own replaces, null takes away. */
function merged(defaults: Mapping, own: Mapping): Mapping {
  const fields = new Map(Object.entries(defaults));
  for (const [key, value] of Object.entries(own)) {
    const initial = fields.get(key);
    if (value === null && initial !== undefined) fields.delete(key);
    else fields.set(key, mixes(key, initial, value) ? merged(initial as Mapping, value as Mapping) : value);
  }
  return Object.fromEntries(fields);
}

/** Whether the field at `path` of the merged entry was written in the defaults. */
function isFromDefaults(defaults: Mapping, own: Mapping, path: readonly PropertyKey[]): boolean {
  const [key, ...rest] = path;
  if (typeof key !== 'string') return false;
  const [initial, value] = [defaults[key], own[key]];
  if (value === undefined) return initial !== undefined;
  return mixes(key, initial, value) && isFromDefaults(initial as Mapping, value as Mapping, rest);
}

function mixes(key: string, initial: unknown, own: unknown): boolean {
  return key !== whole && isMapping(initial) && isMapping(own);
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A problem before its place in the file is looked up. */
export interface Finding {
  path: PropertyKey[];
  message: string;
}

/** The file's value without its abbreviations. */
export interface Expanded {
  value: unknown;
  /** What is wrong with the abbreviations themselves, by paths as written. */
  findings: Finding[];
  /** The path as written of a field of `value`. */
  written: (path: readonly PropertyKey[]) => PropertyKey[];
}

/** Where an entry of `sites` was written; `domain` counts its `domains`. */
interface SiteOrigin {
  entry: number;
  domain: number | null;
}

/** The file and how it was written out. */
interface Expansion {
  file: Mapping;
  defaults: Record<'organizations' | 'projects' | 'sites', Mapping>;
  origins: (SiteOrigin[] | undefined)[];
}

/**
 * Writes the file out: each organization, project and site with its defaults, and each entry of `sites` with one
 * domain, which replaces `{domain}` in its targets. What does not have the expected shape stays for the schema to
 * refuse.
 */
export function expandShorthand(file: unknown): Expanded {
  if (!isMapping(file) || !Array.isArray(file.organizations)) {
    return { value: file, findings: [], written: (path) => [...path] };
  }
  const defaults = {
    organizations: defaultsOf(file, 'organizations'),
    projects: defaultsOf(file, 'projects'),
    sites: defaultsOf(file, 'sites'),
  };
  const findings: Finding[] = [];
  const origins: Expansion['origins'] = [];
  const organizations = file.organizations.map((organization: unknown, o) => {
    if (!isMapping(organization)) return organization;
    const { projects, sites } = organization;
    const entry = new Map(Object.entries(merged(defaults.organizations, organization)));
    if (Array.isArray(projects)) {
      entry.set(
        'projects',
        projects.map((project: unknown) => (isMapping(project) ? merged(defaults.projects, project) : project)),
      );
    }
    if (Array.isArray(sites)) {
      const expanded = sites.flatMap((site: unknown, index) => expandSite(site, index, defaults.sites));
      entry.set(
        'sites',
        expanded.map(({ site }) => site),
      );
      origins[o] = expanded.map(({ origin }) => origin);
      findings.push(...sites.flatMap((site: unknown, s) => domainFindings(site, ['organizations', o, 'sites', s])));
    }
    return Object.fromEntries(entry);
  });
  const written = (path: readonly PropertyKey[]) => writtenPath({ file, defaults, origins }, path);
  return { value: { ...file, organizations }, findings, written };
}

function writtenPath({ file, defaults, origins }: Expansion, path: readonly PropertyKey[]): PropertyKey[] {
  const [top, o, list, index, ...rest] = path;
  const organization = top === 'organizations' ? member(file.organizations, o) : undefined;
  if (typeof o !== 'number' || !isMapping(organization)) return [...path];
  if ((list !== 'projects' && list !== 'sites') || typeof index !== 'number') {
    const field = path.slice(2);
    const shared = isFromDefaults(defaults.organizations, organization, field);
    return shared ? ['defaults', 'organizations', ...field] : [...path];
  }
  const origin = list === 'sites' ? origins[o]?.[index] : undefined;
  const at = ['organizations', o, list, origin?.entry ?? index];
  if (rest[0] === 'domain' && origin !== undefined && origin.domain !== null) return [...at, 'domains', origin.domain];
  const entry = member(organization[list], origin?.entry ?? index);
  if (isMapping(entry) && isFromDefaults(defaults[list], entry, rest)) return ['defaults', list, ...rest];
  return [...at, ...rest];
}

function member(list: unknown, index: PropertyKey | undefined): unknown {
  return Array.isArray(list) && typeof index === 'number' ? list[index] : undefined;
}

function defaultsOf({ defaults }: Mapping, kind: string): Mapping {
  const found = isMapping(defaults) ? defaults[kind] : undefined;
  return isMapping(found) ? found : {};
}

/** One site for each domain of an entry. */
function expandSite(site: unknown, entry: number, defaults: Mapping): { site: unknown; origin: SiteOrigin }[] {
  if (!isMapping(site)) return [{ site, origin: { entry, domain: null } }];
  const { domains, ...own } = site;
  if (domains === undefined) return [{ site: completed(own, defaults), origin: { entry, domain: null } }];
  // An entry with both, or with a list that is none, is refused as it is written.
  if (own.domain !== undefined || !Array.isArray(domains)) return [];
  return domains.map((domain: unknown, index) => ({
    site: completed({ domain, ...own }, defaults),
    origin: { entry, domain: index },
  }));
}

/** A site with its defaults and its own domain in the paths of its targets. */
function completed(own: Mapping, defaults: Mapping): Mapping {
  const site = merged(defaults, own);
  return { ...site, ...(site.rollout !== undefined && { rollout: withDomain(site.rollout, own.domain) }) };
}

function withDomain(value: unknown, domain: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('{domain}', () => String(domain));
  if (Array.isArray(value)) return value.map((item) => withDomain(item, domain));
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withDomain(field, domain)]));
}

function domainFindings(site: unknown, at: PropertyKey[]): Finding[] {
  if (!isMapping(site) || site.domains === undefined) return [];
  if (site.domain !== undefined) return [{ path: at, message: 'expected either domain or domains' }];
  if (!Array.isArray(site.domains)) return [{ path: [...at, 'domains'], message: 'expected a list of host names' }];
  if (site.domains.length > 0) return [];
  return [{ path: [...at, 'domains'], message: 'expected at least one host name' }];
}
