import { stringify } from 'yaml';
import type {
  BundleStoreConfig,
  Config,
  FeedbackStoreConfig,
  OrganizationConfig,
  PrivacyConfig,
  SiteConfig,
} from '../../../config/config.ts';
import {
  type ChangeLimit,
  type ChangeRule,
  limitText,
  renderRuleTexts,
  siteRuleTexts,
} from '../../../exports/rules/verification-rules.ts';
import { spanText } from '../../../rules/text.ts';
import { connectOptions } from '../../../temporal/connection.ts';
import { type CommandContext, type CommandFile, loadContextConfig, type Paint } from '../../context.ts';
import { bundlePlace } from '../../operator.ts';
import { factLines, indent, projectTitle } from '../../terminal/text.ts';

export default {
  check: (command, run) =>
    command
      .option(
        '--expand',
        'print the configuration as docferry sees it, for reading, not for loading: all defaults and paths, an entry for each site, no secrets; rules about changes only where set',
      )
      .action(run(checkConfig)),
} satisfies CommandFile;

const usualRules = Object.fromEntries(
  Object.entries({ ...siteRuleTexts, ...renderRuleTexts }).map(([name, { level }]) => [name, level]),
);

/**
 * The configuration in the words of docferry.yaml, for people: it cannot be loaded. Instead of a secret it has its source,
 * null where nothing is set, and rules about changes only where they are set.
 */
function expandedConfig({ temporal, organizations, store, ...rest }: Config): object {
  const { given: _given, ...where } = temporal;
  return asWritten({
    temporal: where,
    service: rest.service,
    organizations: organizations.map(({ budget, refresh, webhooks, projects, sites, ...organization }) => ({
      ...organization,
      budget: { ...budget, configuredAt: undefined },
      refresh: expandedRefresh(refresh),
      webhooks: webhooks.map(({ digestMs, ...webhook }) => ({
        ...webhook,
        digest: digestMs === null ? null : weekText(digestMs),
      })),
      projects: projects.map(({ id, ...project }) => ({ id, name: null, atMost: null, ...project })),
      sites: sites.map(expandedSite),
    })),
    store: { feedback: store.feedback.place, bundles: expandedBundles(store.bundles), keep: store.keep },
    privacy: rest.privacy,
    console: rest.console,
    gateway: rest.gateway,
    worker: rest.worker,
  });
}

/** Durations in the units of docferry.yaml, under names without `Ms`; a secret writes where it is from. */
function asWritten(config: object): object {
  const written = ([name, value]: [string, unknown]): [string, unknown] =>
    /Ms$/.test(name) && typeof value !== 'string'
      ? [name.slice(0, -2), typeof value === 'number' ? durationText(value) : value]
      : [name, value];
  return JSON.parse(JSON.stringify(config), (_name, part: unknown) => {
    const isMapping = typeof part === 'object' && part !== null && !Array.isArray(part);
    return isMapping ? Object.fromEntries(Object.entries(part).map(written)) : part;
  });
}

/** `Mon 09:00`, of the milliseconds since the week began. */
function weekText(ms: number): string {
  const monday = Date.UTC(2024, 0, 1);
  const text = new Date(monday + ms).toUTCString();
  return `${text.slice(0, 3)} ${text.slice(17, 22)}`;
}

const percentText = (share: number): string => `${Number((share * 100).toFixed(4))}%`;

const expandedRefresh = (refresh: OrganizationConfig['refresh']): object | null =>
  refresh ? { every: durationText(refresh.everyMs), share: percentText(refresh.share) } : null;

function expandedSite({ domain, bundle, approval, rollout, ...site }: SiteConfig): object {
  const rules = { ...usualRules, ...Object.fromEntries(Object.entries(bundle.rules).map(expandedRule)) };
  return {
    domain,
    schedule: null,
    lateAfter: null,
    ...site,
    bundle: { ...bundle, rules },
    approval: approval.always ? 'manual' : 'none',
    approvalTimeoutMs: approval.timeoutMs,
    rollout: rollout.map(({ place, run, check }) => ({
      ...(place && { [place.kind]: place.settings, ...(place.git && { git: place.git }) }),
      ...(run && { run: run.command, runTimeoutMs: run.timeoutMs }),
      ...(check && { check }),
    })),
  };
}

/** A rule about a change has a limit. Without one of its own it is left out: the usual one may be two. */
function expandedRule([rule, set]: [string, string | ChangeLimit | undefined]): [string, unknown] {
  if (set === undefined || typeof set === 'string') return [rule, set];
  const [word = '', limit = ''] = limitText(rule as ChangeRule, set.limit).split(' ');
  return [rule, { level: set.level, [word]: word === 'below' ? Number(limit) : limit }];
}

function expandedBundles({ kind, ...bundles }: BundleStoreConfig): object {
  if (kind === 'directory') return bundles;
  const { signing, server, publicUrl, ...place } = bundles;
  return { s3: place, publicUrl, signing, server };
}

const durationUnits: readonly [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** A duration as docferry.yaml takes it, in the greatest unit that divides it: `90m`, `7d`. */
function durationText(ms: number): string {
  if (ms === 0) return '0s';
  const [name, size] = durationUnits.find(([, unit]) => ms % unit === 0) ?? ['ms', 1];
  return `${ms / size}${name}`;
}

const dayMs = 86_400_000;

/** `contacts hash, comments keep, deleted after 400 days`; null when everything is kept for ever. */
export function privacyText({ contacts, comments, retentionMs }: PrivacyConfig): string | null {
  if (contacts === 'keep' && comments === 'keep' && retentionMs === null) return null;
  const days = retentionMs === null ? [] : [`deleted after ${Number((retentionMs / dayMs).toFixed(1))} days`];
  return [`contacts ${contacts}`, `comments ${comments}`, ...days].join(', ');
}

/** Keys of the sandbox begin so: they are fakes. */
const fakeKey = 'dk_admin_sandbox_';

/** What is wrong with an API key that the configuration file contains, and the fix, without the key; null for others. */
export function keyInFile({ id, apiKey }: OrganizationConfig): { wrong: string; fix: string } | null {
  if (apiKey.kind !== 'text' || apiKey.read().startsWith(fakeKey)) return null;
  const name = `${id.replaceAll(/\W/g, '_').toUpperCase()}_API_KEY`;
  return { wrong: 'the configuration file contains the key itself', fix: `\${${name}} or apiKeyFile keeps it out` };
}

async function checkConfig(context: CommandContext, flags: { expand?: boolean }): Promise<void> {
  const config = await loadContextConfig(context, 'required');
  if (flags.expand) {
    const expanded = expandedConfig(config);
    context.output.result(expanded, stringify(expanded, { lineWidth: 0 }).trimEnd());
    return;
  }
  for (const organization of config.organizations) {
    const inFile = keyInFile(organization);
    if (inFile !== null) context.output.warn(`${organization.id}: ${inFile.wrong}; ${inFile.fix}`);
  }
  context.output.result(documentOf(config), textOf(config, context.output.paint));
}

function documentOf({ file, temporal, service, organizations, store, privacy }: Config): object {
  const { connection, namespace } = connectOptions(temporal);
  return {
    ok: true,
    file,
    temporal: { address: connection.address, namespace, taskQueue: temporal.taskQueue },
    service: { baseUrl: service.baseUrl, analyticsBaseUrl: service.analyticsBaseUrl },
    organizations: organizations.map(({ id, budget, refresh, webhooks, projects, sites }) => ({
      id,
      budget,
      refresh: expandedRefresh(refresh),
      webhooks: webhooks.map(({ name, format, events }) => ({ name, format, events })),
      projects: projects.map((project) => project.id),
      sites: sites.map(({ domain, rollout }) => ({ domain, rollouts: rollout.map(({ name }) => name) })),
    })),
    store: { feedback: store.feedback.place, bundles: bundlePlace(store.bundles), publicUrl: store.bundles.publicUrl },
    privacy: { ...privacy, hashKey: privacy.hashKey?.describe() ?? null },
  };
}

function textOf({ file, temporal, service, organizations, store, privacy }: Config, paint: Paint): string {
  const { connection, namespace } = connectOptions(temporal);
  const facts: [string, string][] = [
    ['temporal', `${connection.address}, namespace ${namespace}, task queue ${temporal.taskQueue}`],
    ['service', service.baseUrl],
    ['feedback', feedbackText(store.feedback)],
    ['bundles', `${bundlePlace(store.bundles)}, published under ${store.bundles.publicUrl}`],
  ];
  const personal = privacyText(privacy);
  if (personal !== null) facts.push(['personal data', personal]);
  for (const { id, apiKey, budget, refresh, webhooks, projects, sites } of organizations) {
    const { requests, windowMs, reserve } = budget;
    facts.push([id, `key from ${apiKey.describe()}`]);
    // With `auto` this is what the budget sees others use: `budget show` says how many that are now.
    const others = reserve === 0 ? 'leaves other clients what they use' : `${reserve} left to others`;
    facts.push(['', `budget ${requests} requests in ${spanText(windowMs)}, ${others}`]);
    if (refresh)
      facts.push(['', `refresh every ${spanText(refresh.everyMs)} with ${percentText(refresh.share)} of them`]);
    if (webhooks.length > 0) facts.push(['', `webhooks ${webhooks.map(({ name }) => name).join(', ')}`]);
    if (projects.length > 0)
      facts.push(['', `projects ${projects.map(({ id, name }) => projectTitle({ project: id, name })).join(', ')}`]);
    if (sites.length > 0) facts.push(['', `sites ${sites.map(({ domain }) => domain).join(', ')}`]);
  }
  return `${file}: ${paint.green('good')}\n${indent(factLines(facts))}`;
}

function feedbackText(feedback: FeedbackStoreConfig): string {
  if (feedback.kind === 'sqlite') return feedback.place;
  const password = feedback.password === null ? 'no password written' : `password from ${feedback.password.describe()}`;
  return `${feedback.place}, ${password}, sslmode ${feedback.tls.mode}`;
}
