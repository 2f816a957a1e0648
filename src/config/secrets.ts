import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { errorCode } from '../files.ts';
import { ExplainedError } from '../rules/errors.ts';
import { isLoopback, isSecure } from '../rules/proxy.ts';

/** One thing that is wrong with the configuration (X3). */
export interface ConfigProblem {
  /** Path of the field, e.g. `organizations[0].budget.requests`; empty for the file as a whole. */
  path: string;
  /** Its place in the file, counted from 1; null when it has none. */
  position: { line: number; column: number } | null;
  /** What the field contains, if that may be shown, and what is allowed. */
  message: string;
}

/** The configuration cannot be used. The message lists every problem, and never contains a secret. */
export class ConfigError extends ExplainedError {
  override readonly name = 'ConfigError';
  readonly code = 'InvalidConfiguration';
  readonly problems: readonly ConfigProblem[];

  constructor(title: string, problems: readonly ConfigProblem[] = [], hint: string | null = null) {
    super([title, ...problems.map(describeProblem)].join('\n  '), hint);
    this.problems = problems;
  }
}

function describeProblem({ path, position, message }: ConfigProblem): string {
  const place = position === null ? '' : `line ${position.line}, column ${position.column}`;
  if (path === '') return place === '' ? message : `${place}: ${message}`;
  return place === '' ? `${path}: ${message}` : `${path} (${place}): ${message}`;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Expansion {
  /** The text with every `${NAME}` replaced; missing values become empty. */
  text: string;
  /** Names that are not set in the environment. */
  missing: string[];
  /** References `${…}` that are not `${NAME}`. */
  malformed: string[];
}

/** `$${` stands for a literal `${`; names are those of a shell. */
const referencePattern = /\$\$\{|\$\{([^}]*)\}?/g;
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Replaces `${NAME}` by the environment's value (contracts.md). Values are not expanded again. */
export function expand(text: string, environment: Environment): Expansion {
  const missing: string[] = [];
  const malformed: string[] = [];
  const expanded = text.replace(referencePattern, (reference: string, name: string | undefined) => {
    if (name === undefined) return '${';
    if (!namePattern.test(name) || !reference.endsWith('}')) {
      malformed.push(reference);
      return '';
    }
    const value = environment[name];
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return { text: expanded, missing, malformed };
}

/** The names that `text` refers to. */
export function referencedNames(text: string): string[] {
  return [...text.matchAll(referencePattern)].flatMap(([, name]) => (name === undefined ? [] : [name]));
}

/** Where a secret comes from. Printing it shows the place, never the value. */
export abstract class SecretSource {
  /** `text`: the configuration file contains it. */
  abstract readonly kind: 'text' | 'environment' | 'file';
  /** E.g. `the environment variable ACME_API_KEY`. */
  abstract describe(): string;
  /** The present value; throws `ConfigError` when there is none. */
  abstract read(): string;

  toString(): string {
    return this.describe();
  }

  toJSON(): string {
    return this.describe();
  }

  [inspect.custom](): string {
    return `SecretSource(${this.describe()})`;
  }
}

/** A secret written as text; references to the environment are replaced each time it is read. */
export class TextSecret extends SecretSource {
  readonly #what: string;
  readonly #template: string;
  readonly #environment: Environment;
  readonly #check: SecretCheck;

  /** `what` names it in messages, e.g. `API key`. */
  constructor(what: string, template: string, environment: Environment, check: SecretCheck = () => null) {
    super();
    this.#what = what;
    this.#template = template;
    this.#environment = environment;
    this.#check = check;
  }

  get kind(): 'text' | 'environment' {
    return referencedNames(this.#template).length === 0 ? 'text' : 'environment';
  }

  describe(): string {
    const names = referencedNames(this.#template);
    if (names.length === 0) return 'the configuration file';
    return `the environment ${names.length === 1 ? 'variable' : 'variables'} ${names.join(', ')}`;
  }

  read(): string {
    const { text, missing, malformed } = expand(this.#template, this.#environment);
    if (missing.length > 0) throw new ConfigError(`the environment variable ${missing.join(', ')} is not set`);
    if (malformed.length > 0) {
      throw new ConfigError(`expected \${NAME} of an environment variable for the ${this.#what}`);
    }
    const value = text.trim();
    if (value === '') throw new ConfigError(`there is no ${this.#what} in ${this.describe()}`);
    const wrong = this.#check(value, this.describe());
    if (wrong !== null) throw new ConfigError(wrong);
    return value;
  }
}

/** A secret in a file, read again whenever the file has changed. */
export class FileSecret extends SecretSource {
  readonly kind = 'file';
  readonly #directory: string;
  readonly #written: string;
  readonly #path: TextSecret;
  #known: { stamp: string; value: string } | null = null;

  /** `written` is its path as the configuration has it, from `directory`, with references to the environment. */
  constructor(written: string, { directory, environment }: { directory: string; environment: Environment }) {
    super();
    this.#directory = directory;
    this.#written = written;
    this.#path = new TextSecret('path of the API key', written, environment);
  }

  /** A variable may hold the key itself by mistake: its value is never shown. */
  describe(): string {
    return `the file ${this.#path.kind === 'text' ? path.resolve(this.#directory, this.#written) : this.#written}`;
  }

  read(): string {
    const file = path.resolve(this.#directory, this.#path.read());
    try {
      const { mtimeMs, size, ino } = statSync(file);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (this.#known?.stamp !== stamp) this.#known = { stamp, value: readFileSync(file, 'utf8').trim() };
    } catch (error) {
      const code = errorCode(error) ?? 'unknown error';
      const why = new Map([
        ['ENOENT', 'no such file'],
        ['EACCES', 'no permission'],
      ]).get(code);
      throw new ConfigError(`the API key cannot be read from ${this.describe()} (${why ?? code})`);
    }
    if (this.#known.value === '') throw new ConfigError(`there is no API key in ${this.describe()}`);
    return this.#known.value;
  }
}

/** What is wrong with a secret from `source`, without showing it; null for a good one. */
export type SecretCheck = (value: string, source: string) => string | null;

/** The token that identifies a client of the gateway. */
export const tokenCheck: SecretCheck = (value, source) => {
  if (value.length >= 16 && /^[\x21-\x7e]+$/.test(value)) return null;
  return `expected a token of at least 16 letters, digits and signs in ${source}, such as \`openssl rand -hex 16\` writes`;
};

/** The key of `privacy.hashKey`, which must be too long to guess. */
export const hashKeyCheck: SecretCheck = (value, source) => {
  if (value.length >= 32) return null;
  return `expected a hash key of at least 32 characters in ${source}, such as \`openssl rand -hex 32\` writes`;
};

/** The key that messages are signed with: `whsec_` and base64 (Standard Webhooks). */
export const signatureKeyCheck: SecretCheck = (value, source) => {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? [];
  const key = Buffer.from(text ?? '', 'base64');
  if (text !== undefined && key.toString('base64') === text && key.length >= 24) return null;
  const how = 'make one with `echo "whsec_$(openssl rand -base64 32)"`';
  return `expected whsec_ and at least 24 random bytes in base64 from ${source}: ${how}`;
};

/** The address of a webhook, a secret too: receivers put tokens into paths. */
export function webhookAddressCheck(allowInsecure: boolean): SecretCheck {
  return (value, source) => {
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
      return `expected an https:// address without user name and password from ${source}`;
    }
    if (allowInsecure || isSecure(url)) return null;
    return `expected an https:// address from ${source} (service.allowInsecure: true permits http://)`;
  };
}

/** libpq's `sslmode`, without the modes that may fall back to plain text. */
const tlsModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/** A parsed `postgres://` address. Its password, if any, is a template. */
interface PostgresAddress {
  /** Host name, address, or the absolute path of the folder of a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string;
  /** May refer to `${NAME}`; null when there is none. */
  password: string | null;
  /** As libpq means it: `require` encrypts without looking at the certificate. */
  tls: { mode: (typeof tlsModes)[number]; rootCert: string | null; cert: string | null; key: string | null };
  /** Settings of the session such as `-c search_path=docferry`; null for none. */
  options: string | null;
}

/** `place` is a readable name: the file, or the address without password. */
export type FeedbackStoreConfig = { place: string } & (
  | {
      kind: 'sqlite';
      file: string;
      /** Its folder also holds the bundles, which other users may read. */
      sharedFolder: boolean;
    }
  | ({ kind: 'postgres'; password: SecretSource | null } & Omit<PostgresAddress, 'password'>)
);

/** A PostgreSQL database as the place of a feedback store. `text` must be a good address. */
export function postgresStore(
  text: string,
  { directory, environment }: { directory: string; environment: Environment },
): FeedbackStoreConfig & { kind: 'postgres' } {
  const address = parsePostgresAddress(text);
  if (typeof address === 'string') throw new TypeError(address);
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

const whole = /^(postgres(?:ql)?:\/\/)(?:(.*)@)?([^@]*)$/is;
const parameters: ReadonlySet<string> = new Set(['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'options']);
const shape = `expected postgres://user:\${PASSWORD}@host:5432/database`;

/** The indices of the password in an address; null when it has none. */
export function passwordSpan(text: string): { start: number; end: number } | null {
  const [, scheme, credentials] = whole.exec(text) ?? [];
  const colon = credentials?.indexOf(':') ?? -1;
  if (scheme === undefined || credentials === undefined || colon < 0) return null;
  return { start: scheme.length + colon + 1, end: scheme.length + credentials.length };
}

/** Parses an address (contracts.md `store.feedback`), or returns what is wrong with it, without the password. */
export function parsePostgresAddress(text: string): PostgresAddress | string {
  const [, , credentials, rest] = whole.exec(text) ?? [];
  if (credentials === undefined || credentials === '' || rest === undefined) return `${shape}: there is no user`;
  const url = URL.canParse(`postgres://${rest}`) ? new URL(`postgres://${rest}`) : null;
  if (url === null) return `${shape}: the host or the port cannot be read`;
  const [encodedUser = '', ...password] = credentials.split(':');
  const user = decoded(encodedUser);
  const database = decoded(url.pathname.slice(1));
  const template = password.length === 0 ? null : decoded(password.join(':'));
  if (user === null || database === null || (password.length > 0 && template === null)) {
    return 'expected %25 for a % in the user, the password or the database';
  }
  if (user === '') return `${shape}: there is no user`;
  if (database === '' || database.includes('/')) return `${shape}: there is no name of a database`;
  const host = hostOf(url);
  if (host === null) return 'expected one host, or ?host= with the absolute path of the folder of its socket';
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.has(name));
  if (unknown !== undefined) return `unknown parameter ${unknown}; known are ${[...parameters].join(', ')}`;
  const tls = tlsOf(url, host);
  if (typeof tls === 'string') return tls;
  const port = url.port === '' ? 5432 : Number(url.port);
  return { host, port, database, user, password: template, tls, options: url.searchParams.get('options') };
}

/** The address for people: without password and parameters. */
export function shownAddress({ host, port, database, user }: PostgresAddress): string {
  if (host.startsWith('/')) return `postgres://${user}@/${database}?host=${host}`;
  return `postgres://${user}@${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}

function hostOf(url: URL): string | null {
  const named = decoded(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const folder = url.searchParams.get('host');
  if (folder !== null) return named === '' && folder.startsWith('/') ? folder : null;
  return named === null || named === '' || /[,\s]/.test(named) ? null : named;
}

function tlsOf({ searchParams }: URL, host: string): PostgresAddress['tls'] | string {
  const given = searchParams.get('sslmode') ?? (host.startsWith('/') || isLoopback(host) ? 'disable' : 'verify-full');
  const mode = tlsModes.find((known) => known === given);
  if (mode === undefined) return `expected sslmode=${tlsModes.join(', ')}`;
  const rootCert = searchParams.get('sslrootcert');
  const [cert, key] = [searchParams.get('sslcert'), searchParams.get('sslkey')];
  if (mode === 'disable' && (rootCert ?? cert ?? key) !== null) return 'certificates go with an sslmode that uses them';
  if (mode === 'require' && rootCert !== null) return 'sslrootcert needs sslmode=verify-ca or verify-full';
  if ((cert === null) !== (key === null)) return 'expected sslcert and sslkey together';
  return { mode, rootCert, cert, key };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
