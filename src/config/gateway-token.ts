import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';
import { TextSecret } from './secret-source.ts';

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
