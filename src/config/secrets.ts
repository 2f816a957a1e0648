import { readFileSync, statSync } from 'node:fs';
import { inspect } from 'node:util';
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
export interface SecretSource {
  /** E.g. `the environment variable ACME_API_KEY`. */
  describe(): string;
  /** The present value; throws `ConfigError` when there is none. */
  read(): string;
}

/** A secret that shows only its source when printed. */
abstract class HiddenSecret implements SecretSource {
  abstract describe(): string;
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
export class TextSecret extends HiddenSecret {
  readonly #what: string;
  readonly #template: string;
  readonly #environment: Environment;

  /** `what` names it in messages, e.g. `API key`. */
  constructor(what: string, template: string, environment: Environment) {
    super();
    this.#what = what;
    this.#template = template;
    this.#environment = environment;
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
    return value;
  }
}

/** A secret in a file, read again whenever the file has changed. */
export class FileSecret extends HiddenSecret {
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
      throw new ConfigError(`the API key cannot be read from ${this.describe()} (${code})`);
    }
    if (this.#known.value === '') throw new ConfigError(`there is no API key in ${this.describe()}`);
    return this.#known.value;
  }
}

/** Shortest key that cannot be guessed: 16 random bytes in hexadecimal digits. */
const shortestKey = 32;

/** Reads `privacy.hashKey`. Throws `ConfigError` when it is missing or too short. */
export function readHashKey(secret: SecretSource): string {
  const key = secret.read();
  if (key.length >= shortestKey) return key;
  throw new ConfigError(
    `expected a hash key of at least ${shortestKey} characters in ${secret.describe()}, such as \`openssl rand -hex 32\` writes`,
  );
}
