import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { askForKeyCheck, budgetView, retryKey } from '../../budget/client.ts';
import type { KeyCheck } from '../../budget/rules/permits.ts';
import type { WindowView } from '../../budget/rules/window-view.ts';
import type { Config, OrganizationConfig } from '../../config/config.ts';
import { ConfigError, type SecretSource } from '../../config/secrets.ts';
import { clockTime, counted, spanText } from '../../rules/text.ts';
import { budgetWorkflowId } from '../../rules/workflow-ids.ts';
import {
  connectClient,
  connectOptions,
  failoverFor,
  TemporalSettingsInvalid,
  TemporalUnreachable,
} from '../../temporal/connection.ts';
import {
  describeNamespace,
  keysNeeded,
  ordersByPriority,
  type SearchAttributeState,
  searchAttributeState,
  serverVersion,
  writingKey,
} from '../../temporal/namespace.ts';
import { bulkQueueOf, oldestServer } from '../../temporal/rules/failover.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  type Paint,
  type Surface,
} from '../context.ts';
import { explainFailure, workflowHint } from '../explain-failure.ts';
import { packageVersion } from '../package-file.ts';
import { printable, tableLines } from '../terminal/text.ts';
import { howToStart, noWorkerText, queuesWithoutWorker } from '../waiting.ts';
import { keyInFile } from './config/config-check.ts';
import {
  bad,
  type Check,
  certificateAuthoritiesCheck,
  checkBrowsers,
  checkConfiguration,
  checkStores,
  checkTargets,
  failed,
  good,
  installationCheck,
  linksCheck,
  proxyCheck,
  skipped,
  warning,
  webhookChecks,
} from './doctor-installation.ts';

export default {
  doctor: (command, run) =>
    command
      .option('--all', 'a line for each check, not only for problems')
      .option('--key', 'have a worker test each API key; costs at most one request per organization')
      .action(run(examine)),
} satisfies CommandFile;

const longestText = 1_000;

/** Health checks of this installation, each with its verdict and fix. */
async function examine(
  context: CommandContext,
  { key = false, all = false }: { key?: boolean; all?: boolean },
): Promise<ExitCode> {
  const checks = await allChecks(context, key);
  const ok = checks.every(({ level }) => level !== 'error');
  const document = {
    ok,
    checks: checks.map(({ name, level, detail, fix }) => {
      return { name, ok: level === 'ok' || level === 'warning', level, detail, fix };
    }),
  };
  context.output.result(document, reportText(checks, all, context.output.surface));
  if (!key) context.output.note('the service was not contacted; `docferry doctor --key` tries the API keys');
  return ok ? exitCodes.done : exitCodes.failed;
}

/** Problems first, a line each; the rest in one line unless all are wanted; and a count at the end. */
function reportText(checks: readonly Check[], all: boolean, { paint, columns }: Surface): string {
  const of = (...levels: Check['level'][]) => checks.filter(({ level }) => levels.includes(level));
  const problems = [...of('error'), ...of('warning')];
  const rest = of('ok', 'skipped');
  const shown = all ? [...problems, ...rest] : problems;
  const counts = [
    counted(of('error').length, 'problem'),
    ...(of('warning').length > 0 ? [counted(of('warning').length, 'warning')] : []),
    ...(of('skipped').length > 0 ? [`${of('skipped').length} skipped`] : []),
    `${of('ok').length} ok${all || rest.length === 0 ? '' : ' (`docferry doctor --all` shows them)'}`,
  ];
  const rows = shown.map((check) => cellsOf(check, paint));
  const table = rows.length === 0 ? [] : [tableLines(['', '', ''], rows, columns)];
  return [...table, counts.join(', ')].join('\n');
}

async function allChecks(context: CommandContext, askTheService: boolean): Promise<Check[]> {
  const { env } = context;
  const { config, check: configuration } = await checkConfiguration(context);
  const service = config?.service ?? null;
  const temporal = await checkTemporal(config);
  try {
    const general = [
      installationCheck({ node: process.versions.node, docferry: packageVersion() }),
      configuration,
      certificateAuthoritiesCheck(env.NODE_EXTRA_CA_CERTS, new Date()),
      proxyCheck(env, service, temporal.address),
      ...temporal.checks,
    ];
    if (!config) {
      const others = ['api-key', 'bundle-links', 'feedback-store', 'bundle-store', 'rollout'];
      return [...general, ...skippedAll(others, withoutConfig)];
    }
    const sites = config.organizations.flatMap((organization) => organization.sites);
    // Before the budgets are asked: what it finds ends a refusal that they know of.
    const accepted = askTheService ? await askService(config, temporal) : [];
    return [
      ...general,
      ...(await keyChecks(config, temporal)),
      ...config.organizations.flatMap(webhookChecks),
      ...accepted,
      linksCheck(config.service),
      ...(await checkStores(config)),
      ...(await checkBrowsers(config)),
      ...(await Promise.all(sites.map((site) => checkTargets(config, site)))).flat(),
    ];
  } finally {
    await temporal.client?.connection.close();
  }
}

function cellsOf({ name, level, detail, fix }: Check, paint: Paint): string[] {
  const colours = { ok: paint.green, warning: paint.yellow, error: paint.red, skipped: paint.dim };
  const said = printable(detail, longestText);
  const how = fix === null ? '' : `. ${paint.cyan('Fix:')} ${printable(fix, longestText)}`;
  return [colours[level](level.padEnd(7)), name, said + how];
}

const withoutConfig = 'it needs the configuration';
const inNamespace = ['search-attributes', 'priorities', 'worker', 'encryption'];
const skippedAll = (names: readonly string[], because: string): Check[] => names.map((name) => skipped(name, because));

const connectWithinMs = 3_000;

/** Why no Temporal answers at an address, found out with a bare connection. */
async function whyUnreachable(address: string, tls: boolean): Promise<{ detail: string; fix: string }> {
  const [, host = address, port = '7233'] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(address) ?? [];
  const code = await connect(host, Number(port));
  switch (code) {
    case null: {
      const detail = `something listens there, but not a Temporal ${tls ? 'with' : 'without'} TLS that accepts us`;
      const fix = tls
        ? 'check TEMPORAL_API_KEY, or the certificates that TEMPORAL_TLS_… or the profile name'
        : 'set TEMPORAL_TLS=true (or the profile) if the server wants TLS, else correct temporal.address';
      return { detail, fix };
    }
    case 'ECONNREFUSED':
      return { detail: 'nothing listens there', fix: 'start Temporal (`docferry up`), or correct temporal.address' };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { detail: 'its name is unknown', fix: 'correct temporal.address or TEMPORAL_ADDRESS' };
    default:
      return { detail: `it cannot be reached (${code})`, fix: 'check the address, the network and its firewalls' };
  }
}

/** Null when the connection succeeds, else the system's code. */
function connect(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    const end = (code: string | null) => {
      socket.destroy();
      resolve(code);
    };
    socket.setTimeout(connectWithinMs, () => end('ETIMEDOUT'));
    socket.once('connect', () => end(null));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'unknown'));
  });
}

interface TemporalSight {
  /** For further checks; the caller closes it. Null when Temporal cannot be reached. */
  client: Client | null;
  /** Where commands look for Temporal; null when that is unknown. */
  address: string | null;
  /** Whether a worker polls the task queue of workflows. */
  worker: boolean;
  checks: Check[];
}

/** Temporal, its namespace and search attributes, and whether a worker polls. */
async function checkTemporal(config: Config | null): Promise<TemporalSight> {
  const blind = (first: Check, address: string | null, because: string): TemporalSight => {
    const checks = [first, ...skippedAll(['namespace', ...inNamespace], because)];
    return { client: null, address, worker: false, checks };
  };
  if (!config) return blind(skipped('temporal', withoutConfig), null, withoutConfig);
  let options: ReturnType<typeof connectOptions>;
  try {
    options = connectOptions(config.temporal);
  } catch (error) {
    if (!(error instanceof TemporalSettingsInvalid)) throw error;
    return blind(failed('temporal', explainFailure(error)), null, 'there are no usable settings for Temporal');
  }
  const { address, tls } = options.connection;
  const secure = tls !== undefined && tls !== false && tls !== null;
  try {
    const client = await connectClient(config.temporal);
    const { checks, worker } = await lookAround(client, config, { address, secure });
    return { client, address, worker, checks };
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    const { detail, fix } = await whyUnreachable(address, secure);
    return blind(bad('temporal', `${error.message}: ${detail}`, fix), address, 'Temporal cannot be reached');
  }
}

async function lookAround(
  client: Client,
  config: Config,
  { address, secure }: { address: string; secure: boolean },
): Promise<{ checks: Check[]; worker: boolean }> {
  const { namespace } = client.options;
  const { taskQueue } = config.temporal;
  const server = await looking('temporal', async () =>
    serverCheck(await serverVersion(client), `at ${address} ${secure ? 'with' : 'without'} TLS`),
  );
  const place = await looking('namespace', async () => namespaceCheck(namespace, await describeNamespace(client)));
  if (place.level !== 'ok') {
    return { checks: [server, place, ...skippedAll(inNamespace, 'the namespace cannot be used')], worker: false };
  }
  const attributes = await looking('search-attributes', async () =>
    searchAttributesCheck(await searchAttributeState(client)),
  );
  const priorities = await looking('priorities', async () =>
    prioritiesCheck(await ordersByPriority(client, taskQueue)),
  );
  const lacking = await lackingInTheEnd(() => queuesWithoutWorker(client, taskQueue));
  const worker = lacking !== null && !lacking.includes(taskQueue);
  const encryption = await looking('encryption', () => checkEncryption(client, config, worker));
  const checks = [server, place, attributes, priorities, workerCheck(taskQueue, lacking), encryption];
  return { checks, worker };
}

/** A worker that was just started, and a busy Temporal, answer late: neither is an error of the installation. */
const looks = 20;
const nextLookMs = 250;

/** What the last of some looks found: the task queues that no worker polls, or null when Temporal did not say. */
export async function lackingInTheEnd(look: () => Promise<string[] | null>): Promise<string[] | null> {
  for (let left = looks - 1; ; left -= 1) {
    const lacking = await look();
    if (lacking?.length === 0 || left === 0) return lacking;
    await sleep(nextLookMs);
  }
}

/** The verdict, or the failure that prevented it. */
async function looking(name: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    return failed(name, explainFailure(error));
  }
}

/** Cloud and development builds have no comparable version; they count as new enough. */
export function serverCheck(version: string, where: string): Check {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const detail = `server ${version === '' ? 'of unknown version' : version} ${where}`;
  const [oldestMajor, oldestMinor] = oldestServer;
  const old =
    major !== undefined &&
    (Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor));
  if (!old) return good('temporal', detail);
  return warning('temporal', detail, `upgrade to ${oldestMajor}.${oldestMinor} or newer: budgets may not work on it`);
}

function namespaceCheck(namespace: string, found: { retentionDays: number | null } | null): Check {
  if (!found) {
    const fix = 'correct temporal.namespace, or create it: `docferry setup --create-namespace`';
    return bad('namespace', `Temporal does not know the namespace ${namespace}`, fix);
  }
  const days = found.retentionDays === null ? 'an unknown time' : counted(found.retentionDays, 'day');
  return good('namespace', `${namespace}; closed workflows stay for ${days}`);
}

export function searchAttributesCheck({ present, missing, mistyped }: SearchAttributeState): Check {
  const name = 'search-attributes';
  if (mistyped.length > 0) {
    const fix = 'remove them (`temporal operator search-attribute remove`), then run `docferry setup`';
    return bad(name, `not of the type Keyword: ${mistyped.join(', ')}`, fix);
  }
  if (missing.length > 0) {
    return bad(name, `not registered: ${missing.join(', ')}`, 'register them with `docferry setup`');
  }
  return good(name, `registered: ${present.join(', ')}`);
}

export function prioritiesCheck(isOrdered: boolean | null): Check {
  if (isOrdered === null) return skipped('priorities', 'the server does not count tasks by priority');
  if (isOrdered) return good('priorities', 'the server hands out what matters first');
  return warning(
    'priorities',
    'the server ignores priorities: when all workers are busy, work on demand waits behind scheduled work',
    'set matching.useNewMatcher and matching.enableFairness in its dynamic configuration',
  );
}

function workerCheck(taskQueue: string, lacking: string[] | null): Check {
  if (lacking === null) return warning('worker', 'whether a worker polls is unknown', 'run it again');
  if (lacking.length === 0)
    return good('worker', `one polls the task queues ${taskQueue} and ${bulkQueueOf(taskQueue)}`);
  return bad('worker', noWorkerText(lacking), `${howToStart(taskQueue, lacking)}, with the same temporal.taskQueue`);
}

/** Whether a worker writes as this command does, and which keys running work and schedules still need. */
async function checkEncryption(client: Client, { temporal, organizations }: Config, worker: boolean): Promise<Check> {
  const name = 'encryption';
  if (temporal.codec) return good(name, `by the codec ${temporal.codec}, whose keys docferry does not know`);
  const own = (temporal.encryption?.keys ?? []).map(({ id }) => id);
  const fix = 'give all workers and commands the same temporal.encryption, and restart the workers';
  const [first = null] = own;
  const needed = await keysNeeded(client, temporal.taskQueue);
  const lacking = [...needed].filter((id) => !own.includes(id));
  if (lacking.length > 0) {
    const detail = `running work or schedules need the key ${lacking.join(', ')}, which is not configured here`;
    return bad(name, detail, 'add it to temporal.encryption.keys of all workers and commands');
  }
  for (const { id } of worker ? organizations : []) {
    // A budget without an answer may never have begun, and other checks say when no worker answers.
    const answer = await writingKey(client, budgetWorkflowId(id)).catch(() => undefined);
    if (answer?.failed) return bad(name, 'a worker cannot read what this command writes', fix);
    if (answer === undefined || answer.key === first) continue;
    const workers = answer.key === null ? 'in clear text' : `with the key ${answer.key}`;
    const commands = first === null ? 'in clear text' : `with the key ${first}`;
    const detail = `the worker that answered writes ${workers}, this command ${commands}`;
    return answer.key !== null && own.includes(answer.key) ? warning(name, detail, fix) : bad(name, detail, fix);
  }
  if (first === null) return good(name, 'off: Temporal stores ids, counts and reasons in clear text');
  return good(
    name,
    `AES-256-GCM with the key ${first}; running work and schedules need ${[...needed].join(', ') || 'none'}`,
  );
}

/** A greater difference makes times in logs and histories misleading. */
const tolerableSkewMs = 30_000;

/** Whether the organization's key can be read here; never shows it. */
function keyCheck(organization: OrganizationConfig): Check {
  const { id, apiKey } = organization;
  const name = `api-key:${id}`;
  try {
    const key = apiKey.read();
    if (!/^[\x21-\x7e]+$/.test(key)) {
      return bad(name, `${apiKey.describe()} contains characters that no key has`, 'put only the key there');
    }
    const inFile = keyInFile(organization);
    return inFile === null ? good(name, `from ${apiKey.describe()}`) : warning(name, inFile.wrong, inFile.fix);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return bad(
      name,
      error.message,
      "set it, here and where the workers run, from the API keys page of the service's dashboard",
    );
  }
}

/** For the answer of a worker about an organization's budget. */
const answerWithinMs = 5_000;

/** The keys as they are here, and whether the budgets know that the service refuses them. Asks the service nothing. */
async function keyChecks(
  { organizations }: Config,
  { client, worker }: { client: Client | null; worker: boolean },
): Promise<Check[]> {
  return Promise.all(
    organizations.map(async (organization) => {
      const check = keyCheck(organization);
      if (!client || !worker) return check;
      const asked = client.withDeadline(Date.now() + answerWithinMs, () => budgetView(client, organization.id));
      // Without an answer nothing is known, as when nothing was ever asked.
      return unlessRefused(check, await asked.catch(() => null), organization.apiKey);
    }),
  );
}

/** The check, or an error when the budget waits for a key that the service accepts. */
export function unlessRefused(check: Check, budget: Pick<WindowView, 'pausedBy'> | null, apiKey: SecretSource): Check {
  if (check.level === 'error' || budget?.pausedBy !== 'unauthorized') return check;
  const detail = `${check.detail}; the service refused the workers' key (401), and the budget waits for another`;
  return bad(check.name, detail, newKeyText(apiKey));
}

const newKeyText = (apiKey: SecretSource): string =>
  apiKey.kind === 'file'
    ? `put a working key into ${apiKey.describe()}, then run \`docferry doctor --key\``
    : 'set a working key and restart the workers';

/** What the service says to the workers' keys; at most one request for each organization. */
async function askService(
  config: Config,
  { client, worker }: { client: Client | null; worker: boolean },
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { id, apiKey } of config.organizations) {
    const name = `key-accepted:${id}`;
    if (!client || !worker) {
      checks.push(
        skipped(name, 'only a worker may ask, so that the request counts in the budget, and no worker answers'),
      );
      continue;
    }
    try {
      const asked = await askForKeyCheck(client, config.temporal.taskQueue, id, failoverFor(config.temporal));
      // An accepted request wakes the syncs; exports wait for the key by themselves.
      if (asked.outcome !== 'refused') await retryKey(client, id);
      checks.push(...verdictsOn({ id, apiKey }, asked));
    } catch (error) {
      checks.push(failed(name, explainFailure(error)));
    }
  }
  return checks;
}

/** The verdicts on a worker's request: on the key, and on the clocks if the service sent its own. */
export function verdictsOn({ id: org, apiKey }: Pick<OrganizationConfig, 'id' | 'apiKey'>, check: KeyCheck): Check[] {
  const name = `key-accepted:${org}`;
  switch (check.outcome) {
    case 'no-project':
      return [skipped(name, 'the organization has no project to read; exports that wait for a key try it again now')];
    case 'no-permit':
      return [warning(name, `not asked: the budget is used up until ${clockTime(check.until)}`, 'run it again later')];
    case 'accepted':
      return [good(name, `the service returned an entry of ${check.project}`), ...clockVerdicts(org, check)];
    case 'refused':
      return [refusal(name, apiKey, check), ...clockVerdicts(org, check)];
  }
}

function refusal(
  name: string,
  apiKey: SecretSource,
  { type, message, project }: KeyCheck & { outcome: 'refused' },
): Check {
  // The key is accepted: the service counts the requests of the organization.
  if (type === 'RateLimited') return warning(name, message, 'run it again later');
  const fix = type === 'Unauthorized' ? newKeyText(apiKey) : (workflowHint(type) ?? 'see the message');
  return bad(name, type === 'NotFound' ? `${project}: ${message}` : message, fix);
}

function clockVerdicts(org: string, { clockAheadMs }: { clockAheadMs: number | null }): Check[] {
  if (clockAheadMs === null) return [];
  const name = `clock:${org}`;
  const skew = Math.abs(clockAheadMs);
  if (skew <= tolerableSkewMs) return [good(name, "the worker's and the service's clocks agree")];
  const detail = `the worker's clock is ${spanText(skew)} ${clockAheadMs > 0 ? 'ahead of' : 'behind'} the service's`;
  return [warning(name, detail, 'set the clock of the worker with NTP')];
}
