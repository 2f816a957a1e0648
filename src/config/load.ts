import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import type { Config } from './config.ts';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { findContradictions } from './consistency.ts';
import type { Environment } from './environment.ts';
import { configSchema } from './file-schema.ts';
import { formatPath } from './format-path.ts';
import { readHashKey } from './hash-key.ts';
import { resolveConfig } from './resolve.ts';
import { describeIssues, problemAt } from './schema-problems.ts';
import type { SecretSource } from './secret-source.ts';
import { type Expanded, expandShorthand, type Finding } from './expand.ts';
import { YamlFile } from './yaml-file.ts';

export interface LoadOptions {
  /** Value of `--config`. */
  file?: string;
  env: Environment;
  cwd: string;
  /**
   * `required`: what workers need must be readable now; `gateway`: what the gateway needs; `deferred`: secrets are read
   * when they are used.
   */
  secrets: 'required' | 'gateway' | 'deferred';
}

const defaultFile = 'docferry.yaml';
const maxFileBytes = 1024 * 1024;

/**
 * Loads the configuration from `--config`, else `DOCFERRY_CONFIG`, else `./docferry.yaml` (contracts.md). Throws
 * `ConfigError` that lists every problem with the field's path and place (X3).
 */
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
  const { value, findings, written } = expandShorthand(yaml.value);
  const problemsAt = (found: readonly Finding[]) => found.map(({ path, message }) => problemAt(path, message, yaml));
  const checked = configSchema.safeParse(value);
  const wrong = [...problemsAt(findings), ...describeIssues(checked.error?.issues ?? [], yaml, written)];
  if (!checked.success || wrong.length > 0) return refuse(withoutRepetition(wrong));
  const contradictions = findContradictions(checked.data).map((found) => ({ ...found, path: written(found.path) }));
  if (contradictions.length > 0) refuse(withoutRepetition(problemsAt(contradictions)));
  const config = resolveConfig(checked.data, absolute, env);
  for (const { budget } of config.organizations) budget.configuredAt = writtenAt;
  const missing = withoutRepetition(findMissingSecrets(config, yaml, secrets, written));
  if (missing.length > 0) refuse(missing);
  return config;
}

/** A mistake in the defaults shows up in each entry that has them. */
function withoutRepetition(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
}

const exampleHint = 'write an example with `docferry config init` and adapt it, or name a file with --config';

function readFile(file: string, byDefault: boolean): { text: string; writtenAt: number } {
  const buffer = Buffer.alloc(maxFileBytes + 1);
  let bytes: number;
  let writtenAt: number;
  try {
    const descriptor = openSync(file, 'r');
    try {
      bytes = readSync(descriptor, buffer);
      writtenAt = Math.floor(fstatSync(descriptor).mtimeMs);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code !== 'ENOENT') throw new ConfigError(`${file} cannot be read (${code})`);
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

/** Webhook secrets and tokens in the file itself are always checked, the others only if they are needed. */
function findMissingSecrets(
  { organizations, store, privacy, gateway }: Config,
  yaml: YamlFile,
  secrets: LoadOptions['secrets'],
  written: Expanded['written'],
): ConfigProblem[] {
  const problemOf = (secret: SecretSource, at: PropertyKey[], read = () => secret.read()): ConfigProblem[] => {
    const path = written(at);
    try {
      read();
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return [{ path: formatPath(path), position: yaml.position(path), message: error.message }];
    }
  };
  const webhooks = organizations.flatMap((organization, o) =>
    organization.webhooks.flatMap((webhook, w) =>
      (['url', 'secret'] as const).flatMap((field) => {
        const source = webhook[field];
        const isNeeded = secrets === 'required' || source?.describe().startsWith('the environment') === false;
        return source && isNeeded ? problemOf(source, ['organizations', o, 'webhooks', w, field]) : [];
      }),
    ),
  );
  const tokens = gateway.clients
    .map(({ token }, c) => ({ token, path: ['gateway', 'clients', c, 'token'] }))
    .filter(({ token }) => secrets === 'gateway' || !token.describe().startsWith('the environment'))
    .flatMap(({ token, path }) => problemOf(token, path));
  if (secrets === 'deferred') return [...webhooks, ...tokens];
  const isUsed = (org: string) => secrets === 'required' || gateway.clients.some((client) => client.org === org);
  const keys = organizations.flatMap(({ id, apiKey }, index) => {
    if (!isUsed(id)) return [];
    const at = ['organizations', index];
    const field =
      yaml.position([...at, 'apiKeyFile']) && apiKey.describe().startsWith('the file') ? 'apiKeyFile' : 'apiKey';
    return problemOf(apiKey, [...at, field]);
  });
  if (secrets === 'gateway') return [...keys, ...tokens];
  const { hashKey } = privacy;
  const { signing, server } = store.bundles;
  const others: [secret: SecretSource | null | undefined, path: string[]][] = [
    [store.feedback.kind === 'postgres' ? store.feedback.password : null, ['feedback']],
    [signing?.password, ['bundles', 'signing', 'password']],
    [server.token, ['bundles', 'server', 'token']],
  ];
  return [
    ...keys,
    ...webhooks,
    ...tokens,
    ...others.flatMap(([secret, path]) => (secret ? problemOf(secret, ['store', ...path]) : [])),
    ...(hashKey === null ? [] : problemOf(hashKey, ['privacy', 'hashKey'], () => readHashKey(hashKey))),
  ];
}
