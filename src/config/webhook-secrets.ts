import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';
import { isSecure } from './is-secure.ts';
import { TextSecret } from './secret-source.ts';

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
