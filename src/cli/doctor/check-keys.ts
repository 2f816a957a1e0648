import type { Client } from '@temporalio/client';
import { askForKeyCheck } from '../../budget/ask-key-checks.ts';
import { budgetView } from '../../budget/budget.ts';
import { handoverFor } from '../../temporal/temporal-connection.ts';
import type { Config, OrganizationConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { KeyCheck } from '../../budget/rules/key-check.ts';
import type { WindowView } from '../../budget/rules/permits.ts';
import { clockTime, spanText } from '../../rules/details-text.ts';
import { explainFailure } from '../explain-failure.ts';
import { workflowHint } from '../workflow-hints.ts';
import { bad, type Check, failed, good, skipped, warning } from './check.ts';

/** A greater difference makes times in logs and histories misleading. */
const tolerableSkewMs = 30_000;

/** Whether the organization's key can be read here; never what it is. */
export function keyCheck({ id, apiKey }: OrganizationConfig): Check {
  const name = `api-key:${id}`;
  try {
    const key = apiKey.read();
    if (/^[\x21-\x7e]+$/.test(key)) return good(name, `from ${apiKey.describe()}`);
    return bad(name, `${apiKey.describe()} contains characters that no key has`, 'put only the key there');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return bad(
      name,
      error.message,
      "set it, here and where the workers run, from the API keys page of the service's dashboard",
    );
  }
}

/** For the answer of a worker about an organization's budget. */
const answerWithinMs = 5_000;

/** The keys as they are here, and whether the budgets know that the service refuses them. Asks the service nothing. */
export async function keyChecks(
  { organizations }: Config,
  { client, worker }: { client: Client | null; worker: boolean },
): Promise<Check[]> {
  return Promise.all(
    organizations.map(async (organization) => {
      const check = keyCheck(organization);
      if (!client || !worker) return check;
      const asked = client.withDeadline(Date.now() + answerWithinMs, () => budgetView(client, organization.id));
      // Without an answer nothing is known, as when nothing was ever asked.
      return unlessRefused(check, await asked.catch(() => null));
    }),
  );
}

/** The check, or an error when the budget waits for a key that the service accepts. */
export function unlessRefused(check: Check, budget: Pick<WindowView, 'pausedBy'> | null): Check {
  if (check.level !== 'ok' || budget?.pausedBy !== 'unauthorized') return check;
  const detail = `${check.detail}; the service refused the workers' key (401), and the budget waits for another`;
  return bad(check.name, detail, workflowHint('Unauthorized') ?? 'correct organizations[].apiKey');
}

/** What the service says to the workers' keys; at most one request for each organization. */
export async function askService(
  config: Config,
  { client, worker }: { client: Client | null; worker: boolean },
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { id } of config.organizations) {
    const name = `key-accepted:${id}`;
    if (!client || !worker) {
      checks.push(
        skipped(name, 'only a worker may ask, so that the request counts in the budget, and no worker answers'),
      );
      continue;
    }
    try {
      checks.push(
        ...verdictsOn(id, await askForKeyCheck(client, config.temporal.taskQueue, id, handoverFor(config.temporal))),
      );
    } catch (error) {
      checks.push(failed(name, explainFailure(error)));
    }
  }
  return checks;
}

/** The verdicts on a worker's request: on the key, and on the clocks if the service sent its own. */
export function verdictsOn(org: string, check: KeyCheck): Check[] {
  const name = `key-accepted:${org}`;
  switch (check.outcome) {
    case 'no-project':
      return [skipped(name, 'the organization has no project to read')];
    case 'no-permit':
      return [warning(name, `not asked: the budget is used up until ${clockTime(check.until)}`, 'run it again later')];
    case 'accepted':
      return [good(name, `the service returned an entry of ${check.project}`), ...clockVerdicts(org, check)];
    case 'refused':
      return [refusal(name, check), ...clockVerdicts(org, check)];
  }
}

function refusal(name: string, { type, message, project }: KeyCheck & { outcome: 'refused' }): Check {
  // The key is accepted: the service counts the requests of the organization.
  if (type === 'RateLimited') return warning(name, message, 'run it again later');
  const fix = workflowHint(type) ?? 'see the message';
  return bad(name, type === 'NotFound' ? `${project}: ${message}` : message, fix);
}

function clockVerdicts(org: string, { clockAheadMs }: { clockAheadMs: number | null }): Check[] {
  if (clockAheadMs === null) return [];
  const name = `clock:${org}`;
  const skew = Math.abs(clockAheadMs);
  if (skew <= tolerableSkewMs) return [good(name, "the worker's and the service's clocks agree")];
  const detail = `the worker's clock is ${spanText(skew)} ${clockAheadMs > 0 ? 'ahead of' : 'behind'} the service's`;
  return [warning(name, detail, 'set the clock of the worker with NTP')];
}
