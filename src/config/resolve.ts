import path from 'node:path';
import { isLoopback } from '../rules/loopback.ts';
import { withoutEnd } from '../rules/text.ts';
import { noticeTypes } from '../runs/rules/notices.ts';
import { webhookEventTypes } from '../runs/rules/webhook-event.ts';
import type {
  BundleStoreConfig,
  Config,
  ConsoleConfig,
  FeedbackStoreConfig,
  OrganizationConfig,
  ProjectConfig,
  RolloutConfig,
  Schedule,
  SiteConfig,
  WebhookConfig,
} from './config.ts';
import { ConfigError } from './config-error.ts';
import type { ScheduleInput } from './organization-schema.ts';
import { type PostgresAddress, parsePostgresAddress, shownAddress } from './postgres-address.ts';
import type { ConfigInput } from './schema.ts';
import { type Environment, FileSecret, type SecretSource, TextSecret } from './secrets.ts';

const shortestToken = 16;

/** The token by which a client of the gateway shows who it is. */
export class GatewayToken extends TextSecret {
  constructor(template: string, environment: Environment) {
    super('token', template, environment);
  }

  /** Throws `ConfigError` without the value. */
  override read(): string {
    const value = super.read();
    if (value.length >= shortestToken && /^[\x21-\x7e]+$/.test(value)) return value;
    throw new ConfigError(
      `expected a token of at least ${shortestToken} letters, digits and signs in ${this.describe()}, such as ` +
        '`openssl rand -hex 16` writes',
    );
  }
}

/** Whether no one on the way can listen: `https://`, or this machine. */
export function isSecure(url: URL): boolean {
  return url.protocol === 'https:' || isLoopback(url.hostname);
}

const shortestKeyBytes = 24;

/** The key that messages are signed with: `whsec_` and base64 (Standard Webhooks). */
export class SigningSecret extends TextSecret {
  constructor(template: string, environment: Environment) {
    super('webhook secret', template, environment);
  }

  /** Throws `ConfigError` without the value. */
  override read(): string {
    const value = super.read();
    const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? [];
    const key = Buffer.from(text ?? '', 'base64');
    if (text !== undefined && key.toString('base64') === text && key.length >= shortestKeyBytes) return value;
    throw new ConfigError(
      `expected whsec_ and at least ${shortestKeyBytes} random bytes in base64 from ${this.describe()}: ` +
        'make one with `echo "whsec_$(openssl rand -base64 32)"`',
    );
  }
}

/** The address of a webhook. It is a secret, since receivers put tokens into paths. */
export class WebhookAddress extends TextSecret {
  readonly #allowInsecure: boolean;

  constructor(template: string, environment: Environment, allowInsecure: boolean) {
    super('webhook address', template, environment);
    this.#allowInsecure = allowInsecure;
  }

  /** Throws `ConfigError` without the value. */
  override read(): string {
    const value = super.read();
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
      throw new ConfigError(`expected an https:// address without user name and password from ${this.describe()}`);
    }
    if (!this.#allowInsecure && !isSecure(url)) {
      throw new ConfigError(
        `expected an https:// address from ${this.describe()} (service.allowInsecure: true permits http://)`,
      );
    }
    return value;
  }
}

/** A week: the person who decides may be away for a few days. */
const usualApprovalMs = 7 * 86_400_000;

/** Crons of many sites name the same minute: Temporal spreads their starts over it, by a hash of schedule and time. */
const usualJitterMs = 60_000;

type OrganizationInput = ConfigInput['organizations'][number];

/** Turns the checked file into the configuration: absolute paths, secrets as sources, defaults filled in. */
export function resolveConfig(input: ConfigInput, file: string, environment: Environment): Config {
  const directory = path.dirname(file);
  const absolute = (relative: string) => path.resolve(directory, relative);
  const { temporal, worker, service, store, privacy, gateway, console } = input;
  const bundles = resolveBundles(store.bundles, absolute, environment);
  const baseUrl = trimSlash(service.baseUrl);
  return {
    file,
    directory,
    temporal: {
      address: temporal.address ?? 'localhost:7233',
      namespace: temporal.namespace ?? 'default',
      taskQueue: temporal.taskQueue,
      profile: temporal.profile ?? null,
      given: { address: temporal.address !== undefined, namespace: temporal.namespace !== undefined },
      ...(temporal.failover && { failover: temporal.failover }),
    },
    worker: {
      downloads: worker.downloads,
      verifications: worker.verifications ?? null,
      browsers: worker.browsers ?? null,
    },
    service: {
      baseUrl,
      analyticsBaseUrl: trimSlash(service.analyticsBaseUrl ?? baseUrl),
      linkHosts: service.linkHosts,
      allowInsecure: service.allowInsecure,
    },
    organizations: input.organizations.map((organization) => ({
      ...resolveOrganization(organization, absolute, environment),
      webhooks: organization.webhooks.map((webhook) => resolveWebhook(webhook, environment, service.allowInsecure)),
    })),
    store: {
      feedback: resolveFeedback(store.feedback, bundles, directory, environment),
      bundles,
      keep: store.keep,
    },
    privacy: {
      contacts: privacy.contacts,
      comments: privacy.comments,
      hashKey: privacy.hashKey === undefined ? null : new TextSecret('hash key', privacy.hashKey, environment),
      keepFields: privacy.keepFields,
      retentionMs: privacy.retention ?? null,
    },
    gateway: {
      clients: gateway.clients.map(({ token, share = null, ...client }) => ({
        ...client,
        token: new GatewayToken(token, environment),
        share,
      })),
    },
    console: resolveConsole(console, environment),
  };
}

function resolveConsole(
  { write, idle, lifetime, url, temporalUi, proxy, oidc, viewers, operators, contacts }: ConfigInput['console'],
  environment: Environment,
): ConsoleConfig {
  return {
    write,
    idleMs: idle,
    lifetimeMs: lifetime,
    url: url === undefined ? null : trimSlash(url),
    temporalUi: temporalUi === undefined ? null : trimSlash(temporalUi),
    proxy: proxy ? { ...proxy, user: proxy.user.toLowerCase(), groups: proxy.groups.toLowerCase() } : null,
    oidc: oidc ? { ...oidc, clientSecret: new TextSecret('client secret', oidc.clientSecret, environment) } : null,
    viewers: viewers ?? null,
    operators,
    contacts,
  };
}

function resolveBundles(
  { directory, s3, publicUrl, signing, server }: ConfigInput['store']['bundles'],
  absolute: (relative: string) => string,
  environment: Environment,
): BundleStoreConfig {
  const secret = (what: string, text: string | undefined) =>
    text === undefined ? null : new TextSecret(what, text, environment);
  const { token, readers, readersPerAddress, idle } = server;
  const published = {
    // As programs will ask for it: published addresses are copied from here.
    publicUrl: trimSlash(new URL(publicUrl).href),
    signing: signing
      ? { ...signing, keyFile: absolute(signing.keyFile), password: secret('password', signing.password) }
      : null,
    server: { token: secret('token', token), readers, readersPerAddress, idleMs: idle },
  };
  if (s3 === undefined) return { kind: 'directory', directory: absolute(directory ?? './data/bundles'), ...published };
  return {
    kind: 's3',
    bucket: s3.bucket,
    prefix: withoutEnd(s3.prefix, '/'),
    ...(s3.endpoint === undefined ? {} : { endpoint: trimSlash(s3.endpoint) }),
    ...(s3.region === undefined ? {} : { region: s3.region }),
    workFolder: absolute(s3.workFolder),
    ...published,
  };
}

/** Whether `inner` is the folder or anywhere below it. */
function holds(folder: string, inner: string): boolean {
  const way = path.relative(folder, inner);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

function resolveFeedback(
  text: string,
  bundles: BundleStoreConfig,
  directory: string,
  environment: Environment,
): FeedbackStoreConfig {
  if (text.startsWith('sqlite:')) {
    const file = path.resolve(directory, text.replace(/^sqlite:/, ''));
    const sharedFolder = bundles.kind === 'directory' && holds(path.dirname(file), bundles.directory);
    return { kind: 'sqlite', file, place: file, sharedFolder };
  }
  const address = parsePostgresAddress(text);
  // The schema has checked it.
  if (typeof address === 'string') throw new Error(address);
  return resolvePostgres(address, directory, environment);
}

/** A PostgreSQL database as the place of a feedback store; paths are relative to `directory`. */
export function resolvePostgres(
  address: PostgresAddress,
  directory: string,
  environment: Environment,
): FeedbackStoreConfig & { kind: 'postgres' } {
  const { password, tls } = address;
  const file = (name: string | null) => (name === null ? null : path.resolve(directory, name));
  return {
    ...address,
    kind: 'postgres',
    place: shownAddress(address),
    password: password === null ? null : new TextSecret('password', password, environment),
    tls: { mode: tls.mode, rootCert: file(tls.rootCert), cert: file(tls.cert), key: file(tls.key) },
  };
}

function resolveOrganization(
  input: OrganizationInput,
  absolute: (relative: string) => string,
  environment: Environment,
): Omit<OrganizationConfig, 'webhooks'> {
  const { requests, window, reserve, arrival, spare } = input.budget;
  return {
    id: input.id,
    apiKey: secretOf(input, absolute, environment),
    // With "auto", only the observed use of other clients is left to them.
    budget: { requests, windowMs: window, reserve: reserve === 'auto' ? 0 : reserve, arrivalMs: arrival },
    ...(spare === undefined ? {} : { spare }),
    watchEveryMs: input.watchEvery,
    projects: input.projects.map(resolveProject),
    sites: input.sites.map((site) => resolveSite(site, absolute)),
  };
}

function resolveWebhook(
  { name, url, format, secret, events }: OrganizationInput['webhooks'][number],
  environment: Environment,
  allowInsecure: boolean,
): WebhookConfig {
  return {
    name,
    url: new WebhookAddress(url, environment, allowInsecure),
    format,
    // The check for contradictions ensures that the standard has one.
    secret: secret === undefined ? null : new SigningSecret(secret, environment),
    events: events ?? (format === 'standard' ? webhookEventTypes : noticeTypes),
  };
}

function resolveProject(project: OrganizationInput['projects'][number]): ProjectConfig {
  const { id, name, incremental, review, sweep, freshness } = project;
  return {
    id,
    ...(name !== undefined && { name }),
    ...(incremental && { incremental: resolveSchedule(incremental) }),
    ...(review && { review: resolveSchedule(review) }),
    ...(sweep && { sweep: resolveSchedule(sweep) }),
    ...(freshness !== undefined && { freshnessMs: freshness }),
  };
}

function resolveSite(site: OrganizationInput['sites'][number], absolute: (relative: string) => string): SiteConfig {
  const { domain, schedule, lateAfter, job, bundle, approval, approvalTimeout, rollout } = site;
  return {
    domain,
    ...(schedule && { schedule: resolveSchedule(schedule) }),
    ...(lateAfter !== undefined && { lateAfterMs: lateAfter }),
    job: { timeoutMs: job.timeout, attempts: job.attempts, startTimeoutMs: job.startTimeout },
    bundle: {
      maxBytes: bundle.maxBytes,
      maxFiles: bundle.maxFiles,
      connections: bundle.connections,
      timeoutMs: bundle.timeout,
      rules: bundle.rules,
      render: resolveRender(bundle.render, absolute),
    },
    approval: approval === 'manual' ? { timeoutMs: approvalTimeout ?? usualApprovalMs } : null,
    rollout: rollout.flatMap((target) => resolveRollout(target, absolute)),
  };
}

/** A browser is never looked up in the PATH: a name without a folder is a file beside the configuration. */
function resolveRender(
  render: OrganizationInput['sites'][number]['bundle']['render'],
  absolute: (relative: string) => string,
): SiteConfig['bundle']['render'] {
  if (!render) return null;
  const { pages, browser, sandbox } = render;
  return { pages, browser: browser === undefined ? null : absolute(browser), sandbox };
}

/** The schema ensures that a target has one kind. */
function resolveRollout(
  { directory, helmValues }: OrganizationInput['sites'][number]['rollout'][number],
  absolute: (relative: string) => string,
): RolloutConfig[] {
  if (directory) return [{ kind: 'directory', path: absolute(directory.path), name: `directory:${directory.path}` }];
  if (helmValues)
    return [{ kind: 'helmValues', file: absolute(helmValues.file), name: `helmValues:${helmValues.file}` }];
  return [];
}

function resolveSchedule({ every, cron, timezone, jitter }: ScheduleInput): Schedule {
  // Intervals are spread by their offsets already.
  const jitterMs = jitter ?? (cron === undefined ? 0 : usualJitterMs);
  return cron === undefined ? { everyMs: every ?? 0, jitterMs } : { cron, timezone: timezone ?? 'UTC', jitterMs };
}

function secretOf(
  { apiKey, apiKeyFile }: OrganizationInput,
  absolute: (relative: string) => string,
  environment: Environment,
): SecretSource {
  if (apiKeyFile !== undefined) return new FileSecret(absolute(apiKeyFile));
  return new TextSecret('API key', apiKey ?? '', environment);
}

function trimSlash(url: string): string {
  return withoutEnd(url, '/');
}
