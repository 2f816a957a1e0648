import { hostname, userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import { Minimatch } from 'minimatch';
import type { Config, OrganizationConfig, SiteConfig } from '../config/config.ts';
import { parseDuration } from '../config/field-schemas.ts';
import { longestReason } from '../exports/rules/site-export.ts';
import type { RecordFilter } from '../feedback/files/feedback-record.ts';
import { knownSources, knownStatuses } from '../feedback/rules/feedback-entry.ts';
import { boundsProblem } from '../feedback/rules/sync.ts';
import type { Selection } from '../operations/status.ts';
import { inFourDigitYears, isoInstant, naturalOrder, nearestName } from '../rules/text.ts';
import { type Actor, actorName, longestName } from '../runs/rules/audit.ts';
import { noSuchThing, usageFailure } from './context.ts';

/** `--from` and `--to`, as far as they are given. Throws a usage failure when they are not dates in this order. */
export function dateRange({ from, to }: { from?: string; to?: string }): { from?: string; to?: string } {
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const wrong = boundsProblem(range);
  if (wrong) throw usageFailure(`--${wrong.field} is ${JSON.stringify(wrong.held)}: it ${wrong.problem}`);
  return range;
}

// Each takes the name of a flag and returns what reads its value. They throw usage failures that name the flag.

/** A reader of values; what it reads as null is refused: it `must` be something else. */
const reader =
  <Value>(read: (text: string) => Value | null, must: string) =>
  (flag: string) =>
  (text: string): Value => {
    const value = read(text);
    if (value !== null) return value;
    throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must ${must}`);
  };

const within = (least: number, most: number) => (text: string) => {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : -1;
  return number >= least && number <= most ? number : null;
};

export const port = reader(within(1, 65_535), 'be a port from 1 to 65535');

export interface HostAndPort {
  host: string;
  port: number;
}

/** `host:port`; an IPv6 address is in brackets. */
export const hostAndPort =
  (flag: string) =>
  (text: string): HostAndPort => {
    const [, bracketed, host = bracketed, number = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
    if (host !== undefined) return { host, port: port(flag)(number) };
    throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be host:port, e.g. 127.0.0.1:8091`);
  };

/** More would lead to years that no date has. */
const longestDurationMs = 36_525 * 86_400_000;

/** A positive duration of at most a century, in milliseconds. */
export const duration = reader((text) => {
  const ms = parseDuration(text);
  return ms !== null && ms > 0 && ms <= longestDurationMs ? ms : null;
}, 'be a duration like 90s, 30m or 2h, of a century at most');

/** A date, or how long ago, as an ISO 8601 moment. */
export const moment = reader((text) => {
  const ago = parseDuration(text);
  const ms = ago === null ? isoInstant(text) : inFourDigitYears(Date.now() - ago);
  return ms === null ? null : new Date(ms).toISOString();
}, 'be an ISO 8601 date or date-time, or how long ago: 30d');

export const wholeNumber = reader(within(0, 9_999_999), 'be a whole number');

export const listLimit = reader(within(1, 100_000), 'be a whole number from 1 to 100000')('--limit');

/** `--reason`, trimmed; null when it is blank. */
export function reason(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed.length <= longestReason) return trimmed || null;
  throw usageFailure(`--reason has ${trimmed.length} characters, expected at most ${longestReason}`);
}

const named = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : null);

/** The name of a Worker Deployment: Temporal writes a dot or colon between it and the build. */
export const deploymentName = reader(
  named(/^[\w/-]{1,100}$/),
  'have up to 100 letters, digits or / _ -',
)('--deployment');

export const buildId = reader(named(/^[\w.+@-]{1,100}$/), 'have up to 100 letters, digits or . _ + @ -')('--build');

/** The flags of commands that can wait for their workflow. */
export interface WaitFlags {
  wait?: boolean;
  /** Milliseconds. */
  timeout?: number;
}

export function addWaitFlags(command: Command): Command {
  return command
    .option('--wait', 'wait for the end and show progress; Ctrl-C only stops the waiting')
    .option('--timeout <duration>', 'wait no longer than this, e.g. 30m (then exit code 5)', duration('--timeout'));
}

/** Node's timers hold no more, about 24 days. */
const longestTimerMs = 2 ** 31 - 1;

/** Milliseconds of `--timeout`, null without one. Throws a usage failure. */
export function waitTimeout({ wait, timeout }: WaitFlags): number | null {
  if (timeout === undefined) return null;
  if (!wait) throw usageFailure('--timeout limits the waiting and needs --wait');
  return Math.min(timeout, longestTimerMs);
}

/** What a list of the past is narrowed down to. */
export interface HistoryFlags<Outcome extends string = never> {
  outcome?: Outcome;
  /** An ISO 8601 moment. */
  since?: string;
  limit: number;
}

/** `--since` and `--limit`. @param what e.g. `runs that began` */
export function addListFlags(command: Command, what: string): Command {
  const since = `only ${what} from this ISO 8601 date or date-time on, or within e.g. 7d`;
  return command
    .option('--since <when>', since, moment('--since'))
    .option('--limit <n>', 'how many of the newest to show', listLimit, 100);
}

/** The filter of a store; it asks for one more than wanted, to see whether there are more. */
export function historyFilter<Outcome extends string>({ outcome, since, limit }: HistoryFlags<Outcome>) {
  return {
    ...(outcome !== undefined && { outcome }),
    ...(since !== undefined && { since }),
    limit: limit + 1,
  };
}

export interface FilterFlags {
  from?: string;
  to?: string;
  source?: string;
  status?: string;
  includeDeleted?: boolean;
}

/** Which entries of any project the flags ask for. Throws a usage failure. */
export function recordFilter(flags: FilterFlags): Omit<RecordFilter, 'org' | 'project'> {
  const { source, status, includeDeleted } = flags;
  const { from, to } = dateRange(flags);
  return {
    ...(from !== undefined && { from: utc(from) }),
    ...(to !== undefined && { to: utc(to) }),
    ...(source !== undefined && { sources: listOf('--source', source) }),
    ...(status !== undefined && { statuses: listOf('--status', status) }),
    includeDeleted: includeDeleted === true,
  };
}

/** A warning for each value in a filter that the service does not document and no entry has. */
export function unmetValues(
  { sources = [], statuses = [] }: Pick<RecordFilter, 'sources' | 'statuses'>,
  met: { sources: ReadonlySet<string>; statuses: ReadonlySet<string> },
): string[] {
  const warnings = (flag: string, asked: readonly string[], seen: ReadonlySet<string>, known: readonly string[]) =>
    asked
      .filter((value) => !seen.has(value) && !known.includes(value))
      .map((value) => `no entry matched ${flag} ${JSON.stringify(value)}; known: ${known.join(', ')}`);
  return [
    ...warnings('--source', sources, met.sources, knownSources),
    ...warnings('--status', statuses, met.statuses, knownStatuses),
  ];
}

function utc(text: string): string {
  return new Date(isoInstant(text) ?? Number.NaN).toISOString();
}

function listOf(flag: string, text: string): string[] {
  const values = text.split(',').map((value) => value.trim());
  if (values.every((value) => value !== '')) return [...new Set(values)];
  throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be values separated by commas`);
}

export const siteHelp = 'domain of a configured site';
export const projectHelp = 'id or name of a configured project, or org/project';
export const metricsHelp = 'serve GET /metrics at this address for Prometheus; without authentication';
export const noLinkHelp =
  'print no link to sign in to the console by; with console.proxy or console.oidc there is none anyway';
export const formulaSafeHelp = 'CSV: put an apostrophe before what a spreadsheet would run as a formula';

/** `--on-running`; the first way is the default. */
export function onRunning(when: string, ways: readonly [string, ...string[]]): Option {
  return new Option('--on-running <how>', when).choices(ways).default(ways[0]);
}

export function addOutAndDates(command: Command, out = 'file to write, replaced once complete; - for stdout'): Command {
  return command
    .requiredOption('--out <file>', out)
    .option('--from <date>', 'only entries created from this ISO 8601 date or date-time on')
    .option('--to <date>', 'only entries created before this ISO 8601 date or date-time');
}

export function anyOf(known: readonly string[]): string {
  return `only these, separated by commas; known: ${known.join(', ')}`;
}

/** The flags of commands whose audit entries the audit keeps. */
export interface ActorFlags {
  as?: string;
  reason?: string | null;
}

export function addActorFlag(command: Command): Command {
  return command.option('--as <name>', 'who does this, for `docferry audit`; default: user@host', readActorName);
}

/** With a reason that nothing but the audit shows. */
export function addActorFlags(command: Command): Command {
  return addActorFlag(command).option('--reason <text>', 'why, for `docferry audit`; readable in Temporal', reason);
}

export function actorOf({ as, reason: why }: ActorFlags): Actor & { who: string } {
  return { who: as ?? userAtHost(), ...(why && { reason: why }) };
}

function readActorName(text: string): string {
  const name = text.trim();
  if (actorName.test(name)) return name;
  throw usageFailure(`--as must be a name of 1 to ${longestName} characters`);
}

function userAtHost(): string {
  const name = `${userName()}@${hostname()}`.replaceAll(/[\p{Cc}\p{Cs}]/gu, '');
  return [...name].slice(0, longestName).join('');
}

/** A container's user may have a number only. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.getuid?.() ?? 'user'}`;
  }
}

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

/** Throws a usage failure for a flag that only makes sense for one site or project. */
export function refuseInBulk(flags: Readonly<Record<string, unknown>>, what: string): void {
  const [given] = Object.entries(flags).find(([, value]) => value !== undefined && value !== false) ?? [];
  if (given === undefined) return;
  throw usageFailure(`${given} works with a single ${what}: remove --all, --org and --match`);
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
