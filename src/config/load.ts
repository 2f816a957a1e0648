import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { shareForDeadlines } from '../feedback/rules/refresh/pace.ts';
import { errorCode, pathProblem } from '../files.ts';
import { isSecure } from '../rules/proxy.ts';
import { counted, nearestName, spanText } from '../rules/text.ts';
import type { Config, OrganizationConfig } from './config.ts';
import { type Expanded, expandShorthand, type Finding } from './expand.ts';
import { placed } from './field-schemas.ts';
import { configSchema, fileSchema, insecureAddress } from './schema.ts';
import { ConfigError, type ConfigProblem, type Environment, SecretSource } from './secrets.ts';
import { formatPath, YamlFile } from './yaml-file.ts';

/** Contradictions between several entries. */
function findContradictions(config: Config): Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  const once = (kind: string, value: string, at: PropertyKey[]) => {
    const key = `${kind} ${value}`;
    if (seen.has(key)) findings.push({ path: at, message: `this ${kind} is listed twice` });
    seen.add(key);
  };
  const { bundles } = config.store;
  const isInsecure = (endpoint: string | undefined) =>
    endpoint !== undefined && !config.service.allowInsecure && !isSecure(new URL(endpoint));
  if (bundles.kind === 's3' && isInsecure(bundles.endpoint)) {
    findings.push({ path: ['store', 'bundles', 's3', 'endpoint'], message: insecureAddress });
  }
  for (const [o, organization] of config.organizations.entries()) {
    const at = ['organizations', o];
    once('organization', organization.id, [...at, 'id']);
    for (const [w, { name }] of organization.webhooks.entries()) {
      const isTwice = organization.webhooks.findIndex((other) => other.name === name) < w;
      const message = `another webhook is also called ${name}: give each a different name`;
      if (isTwice) findings.push({ path: [...at, 'webhooks', w], message });
    }
    for (const [p, { id, name, atMostMs: atMost }] of organization.projects.entries()) {
      once('project', id, [...at, 'projects', p, 'id']);
      if (name !== undefined) once('name', `${organization.id}/${name}`, [...at, 'projects', p, 'name']);
      const isIdOfAnother = organization.projects.some((other) => other.id === name && other.id !== id);
      const ambiguous = 'another project has this name as its id: commands could mean either';
      if (isIdOfAnother) findings.push({ path: [...at, 'projects', p, 'name'], message: ambiguous });
      const message = atMost === undefined ? null : deadlineProblem(atMost, organization.refresh);
      if (message !== null) findings.push({ path: [...at, 'projects', p, 'atMost'], message });
    }
    const tooMuch = shareProblem(organization);
    if (tooMuch !== null) findings.push({ path: [...at, 'refresh', 'share'], message: tooMuch });
    for (const [s, site] of organization.sites.entries()) {
      const atSite = [...at, 'sites', s];
      once('domain', site.domain, [...atSite, 'domain']);
      for (const [r, target] of site.rollout.entries()) {
        const { place, sole } = target;
        if (!place || !sole) continue;
        const at = [...atSite, 'rollout', r, place.kind, sole.field];
        once(sole.what, sole.value, at);
        if (place.kind !== 'bucket') continue;
        if (isInsecure(place.settings.endpoint))
          findings.push({ path: [...at.slice(0, -1), 'endpoint'], message: insecureAddress });
        if (overlap(place.settings, bundles)) findings.push({ path: at, message: sharedWithStore });
      }
    }
  }
  for (const [c, { name, org }] of config.gateway.clients.entries()) {
    once('client', name, ['gateway', 'clients', c, 'name']);
    const isKnown = config.organizations.some(({ id }) => id === org);
    const message = 'expected the id of an organization of this file';
    if (!isKnown) findings.push({ path: ['gateway', 'clients', c, 'org'], message });
  }
  return findings;
}

/** What the deadlines of an organization ask of its share, if that is more than they may take; null when they fit. */
function shareProblem({ refresh, budget, projects }: OrganizationConfig): string | null {
  const deadlines = projects.flatMap(({ atMostMs }) => (atMostMs === undefined ? [] : [{ atMostMs }]));
  if (refresh === undefined || deadlines.length === 0) return null;
  const available = budget.requests - budget.reserve;
  const needed = shareForDeadlines(deadlines, { available, windowMs: budget.windowMs, everyMs: refresh.everyMs });
  if (needed <= refresh.share) return null;
  const percent = Math.ceil(needed * 100);
  const why = `the deadlines (\`atMost\`) of ${counted(deadlines.length, 'project')} take half of it`;
  if (percent <= 100) return `expected at least ${percent}%: ${why}`;
  return `expected less: ${why}, and would need ${percent}%; make them longer, or give fewer projects one`;
}

/** What is wrong with a project's deadline for new entries; null when runs come often enough for it. */
function deadlineProblem(atMostMs: number, refresh: OrganizationConfig['refresh']): string | null {
  if (refresh === undefined) return 'goes with `refresh` of the organization, for example { every: 5m, share: 50% }';
  if (atMostMs >= refresh.everyMs) return null;
  return `expected at least ${spanText(refresh.everyMs)}, the \`refresh.every\` of the organization`;
}

const sharedWithStore = 'these keys are those of the bundle store, store.bundles.s3: choose another bucket or prefix';

/** Whether some keys belong to a site and to the store. */
function overlap(
  site: { bucket: string; prefix: string; endpoint?: string },
  store: Config['store']['bundles'],
): boolean {
  if (store.kind !== 's3' || site.bucket !== store.bucket || site.endpoint !== store.endpoint) return false;
  const [a, b] = [`${site.prefix}/`, `${store.prefix}/`];
  return site.prefix === '' || store.prefix === '' || a.startsWith(b) || b.startsWith(a);
}

/** Issues found by the schema, in words and with their places in the file, which `written` knows. */
function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  yaml: YamlFile,
  written: Expanded['written'],
): ConfigProblem[] {
  return issues.flatMap((issue) => {
    // Of the shapes that a field may have, the one that was meant: another kind of value fails without a path within it.
    const meant = issue.code === 'invalid_union' ? issue.errors.find((found) => !found.some(isAboutKind)) : undefined;
    if (meant) {
      const within = meant.map((found) => ({ ...found, path: [...issue.path, ...found.path] }));
      return describeIssues(within, yaml, written);
    }
    if (issue.code !== 'unrecognized_keys') return [problemAt(written(issue.path), messageOf(issue), yaml)];
    return issue.keys.map((key) => {
      const path = written([...issue.path, key]);
      const mapping = path.slice(0, -1);
      return {
        path: formatPath(path),
        position: yaml.positionOfKey(mapping, key),
        message: unknownKey(mapping, key),
      };
    });
  });
}

const isAboutKind = ({ code, path }: z.core.$ZodIssue): boolean => code !== 'unrecognized_keys' && path.length === 0;

/** A problem with the field at `path`, with its value if that may be shown. */
function problemAt(path: readonly PropertyKey[], message: string, yaml: YamlFile): ConfigProblem {
  // An `expected either` is about fields of the mapping, not about the mapping.
  const held = /^expected (?!either)/.test(message) ? yaml.held(path) : null;
  const isMissing = held === null && valueAt(yaml.value, path) === undefined;
  const text = isMissing ? `is missing: ${message}` : held === null ? message : `${message}; it is ${held}`;
  return { path: formatPath(path), position: yaml.position(path), message: text };
}

function messageOf(issue: z.core.$ZodIssue): string {
  const expectsObject = issue.code === 'invalid_type' && issue.expected === 'object';
  return expectsObject && /^Invalid/.test(issue.message) ? 'expected a mapping' : issue.message;
}

function unknownKey(path: readonly PropertyKey[], key: string): string {
  const allowed = allowedKeys(path);
  const nearest = nearestName(key, allowed);
  if (nearest !== null) return `unknown key; did you mean "${nearest}"?`;
  return `unknown key; expected one of ${allowed.join(', ')}`;
}

/** Keys that the schema allows in the mapping at `path`. */
function allowedKeys(path: readonly PropertyKey[]): string[] {
  const way = path.flatMap((key) => (typeof key === 'number' ? ['items'] : ['properties', key]));
  const properties = valueAt(z.toJSONSchema(fileSchema, { io: 'input' }), [...way, 'properties']);
  return Object.keys(properties ?? {});
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  }, root);
}

export interface LoadOptions {
  /** Value of `--config`. */
  file?: string;
  env: Environment;
  cwd: string;
  /** `required`: what workers need is readable now; `gateway`: what it needs; `deferred`: read when they are used. */
  secrets: 'required' | 'gateway' | 'deferred';
}

const defaultFile = 'docferry.yaml';
const maxFileBytes = 1024 * 1024;

/** Loads `--config`, else `DOCFERRY_CONFIG`, else `./docferry.yaml`. Throws `ConfigError` with every problem (X3). */
export function loadConfig({ file, env, cwd, secrets }: LoadOptions): Config {
  const named = file ?? (env.DOCFERRY_CONFIG || undefined);
  const absolute = path.resolve(cwd, named ?? defaultFile);
  const { text, writtenAt } = readFile(absolute, named === undefined);
  const refuse = (problems: readonly ConfigProblem[], hint: string | null = null): never => {
    throw new ConfigError(`${absolute} cannot be used:`, problems, hint);
  };

  const yaml = parse(text, env, refuse);
  if (yaml.problems.length > 0) refuse(yaml.problems, quotingHint(yaml, text));
  if (yaml.value === null) refuse([{ path: '', position: null, message: 'the file is empty' }], exampleHint);
  const former = formerKeys(yaml);
  if (former !== null) refuse([former]);
  const { value, findings, written } = expandShorthand(yaml.value);
  const problemsAt = (found: readonly Finding[]) => found.map(({ path, message }) => problemAt(path, message, yaml));
  const checked = configSchema.safeParse(value);
  const wrong = [...problemsAt(findings), ...describeIssues(checked.error?.issues ?? [], yaml, written)];
  if (!checked.success || wrong.length > 0) return refuse(withoutRepetition(wrong));
  const { defaults: _merged, ...whole } = checked.data;
  const { allowInsecure } = whole.service;
  const directory = path.dirname(absolute);
  const config = {
    file: absolute,
    directory,
    variables: yaml.variables,
    ...placed(whole, { directory, environment: env, writtenAt, allowInsecure }),
  };
  const contradictions = findContradictions(config).map((found) => ({ ...found, path: written(found.path) }));
  if (contradictions.length > 0) refuse(withoutRepetition(problemsAt(contradictions)));
  const missing = withoutRepetition(findMissingSecrets(config, yaml, secrets, written));
  if (missing.length > 0) refuse(missing);
  return config;
}

/** How feedback was once read: schedules of three kinds of pass a project, and spare requests. */
const formerPasses = ['incremental', 'review', 'sweep'];

/** One problem for all keys that `refresh` has replaced: where they are, and what to write instead. Null without any. */
function formerKeys(yaml: YamlFile): ConfigProblem | null {
  const at = (path: PropertyKey[]) => valueAt(yaml.value, path);
  const keysIn = (holder: PropertyKey[]) => [
    ...formerPasses.flatMap((pass) =>
      listOf(at([...holder, 'projects'])).map((_, p) => [...holder, 'projects', p, pass]),
    ),
    [...holder, 'budget', 'spare'],
  ];
  const inDefaults = [
    ...formerPasses.map((pass) => ['defaults', 'projects', pass]),
    ['defaults', 'organizations', 'budget', 'spare'],
  ];
  const organizations = listOf(at(['organizations'])).map((_, o) => ['organizations', o]);
  const found = [...inDefaults, ...organizations.flatMap(keysIn)].filter((path) => at(path) !== undefined);
  const [first] = found;
  if (first === undefined) return null;
  const place = (path: PropertyKey[]) => yaml.positionOfKey(path.slice(0, -1), String(path.at(-1)));
  const lines = found.map((path) => place(path)?.line ?? 0).sort((a, b) => a - b);
  const message =
    'one queue keeps feedback fresh now, instead of the schedules `incremental`, `review` and `sweep` and of ' +
    `\`budget.spare\`: remove these keys (line ${[...new Set(lines)].join(', ')}) and paste\n` +
    '    defaults:\n      organizations:\n        refresh: { every: 5m, share: 50% }';
  return { path: formatPath(first), position: place(first), message };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A mistake in the defaults shows up in each entry that has them. */
function withoutRepetition(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
}

const exampleHint = 'write an example with `docferry config init` and adapt it, or name a file with --config';

function readFile(file: string, byDefault: boolean): { text: string; writtenAt: number } {
  const buffer = Buffer.alloc(maxFileBytes + 1);
  let bytes = 0;
  let writtenAt: number;
  try {
    const descriptor = openSync(file, 'r');
    try {
      // A pipe gives its text in parts: the first alone may be a whole file of fewer sites.
      for (let read = -1; read !== 0 && bytes <= maxFileBytes; bytes += read) {
        read = readSync(descriptor, buffer, bytes, buffer.length - bytes, null);
      }
      writtenAt = Math.floor(fstatSync(descriptor).mtimeMs);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = errorCode(error) ?? 'unknown error';
    if (code !== 'ENOENT') {
      const { what, fix } = pathProblem(error) ?? { what: `cannot be read (${code})`, fix: null };
      throw new ConfigError(`${file} ${what}`, [], fix);
    }
    const tried = byDefault ? ' (and neither --config nor DOCFERRY_CONFIG names one)' : '';
    throw new ConfigError(`there is no configuration file ${file}${tried}`, [], exampleHint);
  }
  if (bytes > maxFileBytes) throw new ConfigError(`${file} is larger than 1 MiB: it is not a configuration file`);
  return { text: buffer.toString('utf8', 0, bytes), writtenAt };
}

function parse(text: string, env: Environment, refuse: (problems: readonly ConfigProblem[]) => never): YamlFile {
  try {
    return new YamlFile(text, env);
  } catch (error) {
    // Thousands of brackets exhaust the parser's stack.
    if (error instanceof RangeError) return refuse([{ path: '', position: null, message: 'YAML: nested too deeply' }]);
    throw error;
  }
}

function quotingHint(yaml: YamlFile, text: string): string | null {
  const isSyntax = yaml.problems.some(({ message }) => message.startsWith('YAML:'));
  return isSyntax && text.includes('${') ? `inside { } and [ ] write "\${NAME}" with quotes` : null;
}

/** The secrets that cannot be read, of those that this process uses or that the file itself contains. */
function findMissingSecrets(
  config: Config,
  yaml: YamlFile,
  secrets: LoadOptions['secrets'],
  written: Expanded['written'],
): ConfigProblem[] {
  const [isWorker, isGateway] = [secrets === 'required', secrets === 'gateway'];
  const isNeeded = ([area, o, list, last]: readonly PropertyKey[], { kind }: SecretSource) => {
    if (area === 'console') return false;
    if (area === 'gateway') return isGateway || kind === 'text';
    // Only the bundle server and the codec server read theirs, when they start.
    if (last === 'token' || o === 'codecToken') return isWorker && kind === 'text';
    if (area !== 'organizations') return isWorker;
    if (list === 'webhooks') return isWorker || (!isGateway && kind === 'text');
    const served = config.gateway.clients.some(({ org }) => org === config.organizations[Number(o)]?.id);
    return isWorker || (isGateway && list === 'apiKey' && served);
  };
  return secretsIn(config).flatMap(({ secret, at }) => {
    try {
      if (isNeeded(at, secret)) secret.read();
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const path = written(placeOf(at, secret));
      return [{ path: formatPath(path), position: yaml.position(path), message: error.message }];
    }
  });
}

/** All secrets of a configuration, with their paths in it. */
function secretsIn(value: unknown, at: PropertyKey[] = []): { secret: SecretSource; at: PropertyKey[] }[] {
  if (value instanceof SecretSource) return [{ secret: value, at }];
  if (typeof value !== 'object' || value === null) return [];
  const numbered = Array.isArray(value);
  return Object.entries(value).flatMap(([key, part]) => secretsIn(part, [...at, numbered ? Number(key) : key]));
}

/** The field that a secret was written in, where the configuration has it elsewhere. */
function placeOf(at: readonly PropertyKey[], { kind }: SecretSource): PropertyKey[] {
  // The password is part of the address.
  if (at[0] === 'store' && at[1] === 'feedback') return ['store', 'feedback'];
  return at.at(-1) === 'apiKey' && kind === 'file' ? [...at.slice(0, -1), 'apiKeyFile'] : [...at];
}
