import type { OrganizationConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { bad, type Check, good } from './check.ts';

/** Whether address and secret of each webhook can be read here and are well-formed; no webhook is called. */
export function webhookChecks({ id, webhooks }: OrganizationConfig): Check[] {
  return webhooks.map(({ name, url, format, secret, events }) => {
    const check = `webhook:${id}:${name}`;
    try {
      url.read();
      secret?.read();
      const signed = secret === null ? '' : `, secret from ${secret.describe()}`;
      return good(check, `${format}, sent on ${events.join(', ')}; address from ${url.describe()}${signed}`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return bad(check, error.message, 'set it, here and where the workers run');
    }
  });
}
