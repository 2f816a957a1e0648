import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type {
  BundleStoreConfig,
  Config,
  FeedbackStoreConfig,
  OrganizationConfig,
  PrivacyConfig,
  ServiceConfig,
  SiteConfig,
} from '../../config/config.ts';
import { ConfigError } from '../../config/secrets.ts';
import { rolloutTargets } from '../../exports/rollout/roll-out-version.ts';
import { examine, TargetRefused } from '../../exports/rollout/rollout-target.ts';
import { openBundleStore } from '../../exports/store/open-bundle-store.ts';
import { BrowserUnusable, browsersOf, findBrowser } from '../../exports/verify/find-browser.ts';
import { feedbackPrivacy } from '../../feedback/privacy/privacy.ts';
import { openFeedbackStore } from '../../feedback/store/open-feedback-store.ts';
import { errorCode, isThere, nearestFolder, whyNotWritable } from '../../files.ts';
import { proxyVariable, routeTo } from '../../rules/proxy.ts';
import { counted } from '../../rules/text.ts';
import { temporalProxy } from '../../temporal/connection.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { explainFailure } from '../explain-failure.ts';

/** One verdict of `docferry doctor`. */
export interface Check {
  /** Stable name for scripts, e.g. `temporal` or `api-key:acme`. */
  name: string;
  /** `skipped`: not possible, because another check failed. */
  level: 'ok' | 'warning' | 'error' | 'skipped';
  /** One line. */
  detail: string;
  /** What to do about it; null when there is nothing to do. */
  fix: string | null;
}

export const good = (name: string, detail: string): Check => ({ name, level: 'ok', detail, fix: null });

export const warning = (name: string, detail: string, fix: string): Check => ({ name, level: 'warning', detail, fix });

export const bad = (name: string, detail: string, fix: string): Check => ({ name, level: 'error', detail, fix });

export const skipped = (name: string, because: string): Check => ({
  name,
  level: 'skipped',
  detail: `not checked: ${because}`,
  fix: null,
});

/** A check that could not reach a verdict, e.g. because the system or Temporal refused. */
export function failed(name: string, { message, hint }: { message: string; hint: string | null }): Check {
  return bad(name, message, hint ?? 'see the message');
}

/** The browsers that render pages, if any site wants that; meaningful where the workers run. */
export async function checkBrowsers(config: Config): Promise<Check[]> {
  const checks: Check[] = [];
  for (const choice of browsersOf(config)) {
    try {
      checks.push(good('browser', `pages are rendered by ${await findBrowser(choice)}`));
    } catch (error) {
      if (!(error instanceof BrowserUnusable)) throw error;
      checks.push(bad('browser', error.message, error.hint ?? ''));
    }
  }
  return checks;
}

/** The configuration, if it is usable; keys have checks of their own. */
export async function checkConfiguration(context: CommandContext): Promise<{ config: Config | null; check: Check }> {
  try {
    const config = await loadContextConfig(context);
    const { file, organizations } = config;
    const projects = organizations.flatMap((organization) => organization.projects).length;
    const sites = organizations.flatMap((organization) => organization.sites).length;
    const counts = `organizations ${organizations.length}, projects ${projects}, sites ${sites}`;
    return { config, check: good('configuration', `${file}: ${counts}`) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [title, ...problems] = error.message.split('\n  ');
    const detail = problems.length === 0 ? String(title) : `${title} ${problems.join('; ')}`;
    const fix = error.hint ?? 'correct the file; docs/configuration.md has every field';
    return { config: null, check: bad('configuration', detail, fix) };
  }
}

/** The oldest of each major version of Node that docferry supports, as in package.json. */
const oldestNodes: ReadonlyMap<number, number> = new Map([
  [20, 19],
  [22, 13],
  [24, 0],
  [26, 0],
]);

/** Versions of this installation. */
export function installationCheck({ node, docferry }: { node: string; docferry: string }): Check {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const detail = `docferry ${docferry} on Node ${node}`;
  if (minor >= (oldestNodes.get(major) ?? Number.POSITIVE_INFINITY)) return good('installation', detail);
  const versions = [...oldestNodes].map((version) => version.join('.')).join(', ');
  return bad('installation', detail, `install a version of Node that docferry supports: ${versions} or newer of these`);
}

const name = 'bundle-links';

/**
 * Whether links from this service could be followed. Their host is only known once an export gets one, but a service on
 * this machine most likely links to this machine too, which must be allowed.
 */
export function linksCheck({ baseUrl, linkHosts, allowInsecure }: ServiceConfig): Check {
  const url = new URL(baseUrl);
  const route = routeTo(url, {});
  const local = route.kind === 'direct' && route.loopback;
  const lacking = [
    ...(url.protocol === 'http:' && !allowInsecure ? ['allowInsecure: true'] : []),
    ...(local && linkHosts.length === 0 ? [`linkHosts: [${url.host}]`] : []),
  ];
  if (lacking.length > 0) {
    const detail = `the service is at ${baseUrl}; links to bundles on such a host are refused`;
    return warning(name, detail, `set service.${lacking.join(' and service.')}, with the host that links lead to`);
  }
  if (url.protocol === 'https:' && allowInsecure) {
    const detail = 'service.allowInsecure permits http://, though the service has https://';
    return warning(name, detail, 'remove allowInsecure unless bundles are only available over http://');
  }
  const hosts = linkHosts.length === 0 ? '' : `, and ${linkHosts.join(', ')}`;
  return good(name, `${allowInsecure ? 'http:// and https://' : 'https://'} to public hosts${hosts}`);
}

const giveTargetAccess = 'give the user that runs docferry access to it, or correct the rollout of the site';

/** Whether each of the site's targets could take a version now; changes nothing. */
export async function checkTargets(config: Config, site: SiteConfig): Promise<Check[]> {
  return Promise.all(
    rolloutTargets(config, site).map(async (target) => {
      const name = `rollout:${site.domain}:${target.name}`;
      try {
        return good(name, await examine(target));
      } catch (error) {
        if (!(error instanceof TargetRefused)) return failed(name, explainFailure(error));
        const [, problem = error.message, fix = giveTargetAccess] = /^(.*?): (.*)$/s.exec(error.message) ?? [];
        return bad(name, problem, fix);
      }
    }),
  );
}

/** Whether address and secret of each webhook can be read here and are well-formed; no webhook is called. */
export function webhookChecks({ id, webhooks }: OrganizationConfig): Check[] {
  return webhooks.map(({ name, url, format, secret, events }) => {
    const check = `webhook:${id}:${name}`;
    try {
      url.read();
      secret?.read();
      const signed = secret === null ? '' : `, secret from ${secret.describe()}`;
      return good(check, `${format}, sent on ${events.join(', ')}; address from ${url.describe()}${signed}`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return bad(check, error.message, 'set it, here and where the workers run');
    }
  });
}

const giveStoreAccess = 'give the user that runs docferry write access, or name another place in store';

/** The stores as seen from this machine; meaningful where the workers run. */
export async function checkStores({ store: { feedback, bundles }, privacy }: Config): Promise<Check[]> {
  return [await checkFeedback(feedback, privacy), await checkBundles(bundles)];
}

async function checkFeedback(feedback: FeedbackStoreConfig, privacy: PrivacyConfig): Promise<Check> {
  const name = 'feedback-store';
  if (feedback.kind === 'sqlite' && !(await isThere(feedback.file))) return checkFuture(name, feedback.file);
  try {
    // A store that does not exist is not opened, because that would create it.
    const server = feedback.kind === 'postgres' ? await lookAtServer(feedback) : null;
    if (server?.future) return server.future;
    const store = await openFeedbackStore(feedback, feedbackPrivacy(privacy));
    try {
      await store.checkWritable();
      const { entries, rejects } = await store.countUntreated(new Date());
      const detail = `${feedback.place} can be written${server?.detail ?? ''}`;
      const open = feedback.kind === 'sqlite' ? await readableByOthers(feedback.file) : [];
      if (open.length > 0) {
        const who = 'other users of this machine can read the feedback';
        return warning(name, `${detail}; ${who}`, `chmod 600 ${open.join(' ')}`);
      }
      if (entries + rejects === 0) return good(name, detail);
      const plain = `${counted(entries, 'entry', 'entries')} and ${counted(rejects, 'reject')} contain personal data that the privacy settings forbid`;
      return warning(name, `${detail}; ${plain}`, 'restart the workers: they remove it when they start');
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof ConfigError) return bad(name, error.message, 'set it to the password of store.feedback');
    return failed(name, explainFailure(error));
  }
}

/** Of a database and SQLite's files beside it; a folder that only this user can enter hides them. */
async function readableByOthers(file: string): Promise<string[]> {
  const isOpen = (path: string) =>
    stat(path).then(
      ({ mode }) => (mode & 0o077) !== 0,
      () => false,
    );
  if (!(await isOpen(dirname(file)))) return [];
  const files = [file, `${file}-wal`, `${file}-shm`];
  const open = await Promise.all(files.map(isOpen));
  return files.filter((_, index) => open[index]);
}

/** What kind of server it is; the whole check if the first worker has yet to create the tables. */
async function lookAtServer(
  feedback: FeedbackStoreConfig & { kind: 'postgres' },
): Promise<{ detail: string; future: Check | null }> {
  // SQLite does without its client.
  const { examinePostgres } = await import('../../feedback/store/postgres-store.ts');
  const { state, schema, version, mayCreate } = await examinePostgres(feedback);
  const { place, user, database, tls } = feedback;
  const detail = `: PostgreSQL ${version}, ${tls.mode === 'disable' ? 'without TLS' : `TLS by sslmode ${tls.mode}`}`;
  if (state !== 'empty') return { detail, future: null };
  if (mayCreate) {
    return { detail, future: good('feedback-store', `${place} has no tables yet, and they can be created${detail}`) };
  }
  const fix = `allow it: ALTER DATABASE "${database}" OWNER TO "${user}", or GRANT CREATE ON SCHEMA "${schema}" TO "${user}"`;
  return { detail, future: bad('feedback-store', `${place}: ${user} may not create tables in schema ${schema}`, fix) };
}

async function checkBundles(bundles: BundleStoreConfig): Promise<Check> {
  const name = 'bundle-store';
  // A folder that is not yet a store is not opened, because that would make it one.
  if (bundles.kind === 'directory' && !(await isThere(join(bundles.directory, '.store.json')))) {
    return checkFuture(name, bundles.directory);
  }
  try {
    const store = await openBundleStore(bundles);
    await store.checkWritable();
    return good(name, `${store.place} can be written`);
  } catch (error) {
    const { message, hint } = explainFailure(error);
    return bad(name, message, hint ?? giveStoreAccess);
  }
}

/** The first worker creates what does not exist yet, if it can create the folder. */
async function checkFuture(name: string, path: string): Promise<Check> {
  const problem = await whyNotWritable(await nearestFolder(path));
  if (problem !== null) return bad(name, `${path} cannot be created: ${problem}`, giveStoreAccess);
  return good(name, `${path} does not exist yet and can be created`);
}

type Environment = Readonly<Record<string, string | undefined>>;

const proxyName = 'proxy';
const setVariables = 'set HTTPS_PROXY to http://host:port, or unset it';

/** Whether the proxy variables are usable for the service and keep the connection to Temporal out of the proxy. */
export function proxyCheck(env: Environment, service: ServiceConfig | null, temporalAddress: string | null): Check {
  const ways: string[] = [];
  for (const address of new Set(service ? [service.baseUrl, service.analyticsBaseUrl] : [])) {
    const url = new URL(address);
    const route = routeTo(url, env);
    if (route.kind === 'unusable') return bad(proxyName, route.message, setVariables);
    ways.push(route.kind === 'proxy' ? `${url.host} through ${route.host}` : `${url.host} directly`);
  }
  const odd = oddExceptions(env);
  if (odd.length > 0) {
    const detail = `NO_PROXY has entries that are not understood: ${odd.join(', ')}`;
    return warning(proxyName, detail, 'list host names, .suffixes or addresses, each without a scheme');
  }
  const temporal = temporalAddress === null ? undefined : temporalProxy(temporalAddress, env);
  if (temporal) ways.push(`Temporal through ${temporal.targetHost}`);
  const set = ['https_proxy', 'http_proxy', 'all_proxy'].some((variable) => proxyVariable(env, variable) !== '');
  return good(proxyName, [set ? 'set' : 'none set', ...ways].join('; '));
}

/** Entries that look like exceptions but match nothing. */
function oddExceptions(env: Environment): string[] {
  const entries = proxyVariable(env, 'no_proxy').split(/[\s,]+/);
  return entries.filter((entry) => entry.includes('://') || (entry.includes('*') && !/^\*(\..+)?$/.test(entry)));
}

const authoritiesName = 'certificate-authorities';
const begin = '-----BEGIN CERTIFICATE-----';
const setIt = 'set NODE_EXTRA_CA_CERTS to a readable PEM file before the process starts, or unset it';

/** Extra certificate authorities: if their file is unusable, Node silently goes on without them. */
export function certificateAuthoritiesCheck(file: string | undefined, now: Date): Check {
  if (!file) return good(authoritiesName, "those that come with Node (NODE_EXTRA_CA_CERTS isn't set)");
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = errorCode(error) ?? 'unknown error';
    return bad(authoritiesName, `NODE_EXTRA_CA_CERTS names ${file}, which cannot be read (${code})`, setIt);
  }
  const certificates = text.split(begin).slice(1);
  if (certificates.length === 0)
    return bad(authoritiesName, `NODE_EXTRA_CA_CERTS names ${file}, which contains none in PEM`, setIt);
  const parsed = certificates.map(parse);
  if (parsed.includes(null)) return bad(authoritiesName, `a certificate in ${file} cannot be read`, setIt);
  const old = parsed.filter((certificate) => certificate && new Date(certificate.validTo) < now);
  // Bundles of public authorities include expired ones.
  const expired = old.length === 0 ? '' : `, ${old.length} of them expired`;
  const detail = `those of Node and ${certificates.length} in ${file}${expired}`;
  return old.length < parsed.length
    ? good(authoritiesName, detail)
    : warning(authoritiesName, detail, 'replace them with their successors');
}

function parse(text: string): X509Certificate | null {
  try {
    return new X509Certificate(begin + text);
  } catch {
    return null;
  }
}
