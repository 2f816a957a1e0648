import { readFileSync, statSync } from 'node:fs';
import { inspect } from 'node:util';
import { isSecure } from '../rules/proxy.ts';
import { ConfigError } from './config-error.ts';

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
  readonly #file: string;
  #known: { stamp: string; value: string } | null = null;

  constructor(file: string) {
    super();
    this.#file = file;
  }

  describe(): string {
    return `the file ${this.#file}`;
  }

  read(): string {
    try {
      const { mtimeMs, size, ino } = statSync(this.#file);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (this.#known?.stamp !== stamp) this.#known = { stamp, value: readFileSync(this.#file, 'utf8').trim() };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
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
