import type { Client } from '@temporalio/client';
import { BudgetClient } from '../../../budget/budget.ts';
import { handoverFor } from '../../../temporal/temporal-connection.ts';
import type { Config, OrganizationConfig } from '../../../config/config.ts';
import { lastGrantOf, tracesRead } from '../../../budget/rules/earlier-ledger.ts';
import { withFeedbackStore } from '../../feedback-store-of.ts';

/** The budget of an organization. The feedback store is opened only when the budget must be started. */
export function budgetClient(client: Client, config: Config, { id, budget }: OrganizationConfig): BudgetClient {
  return new BudgetClient(
    client,
    config.temporal.taskQueue,
    new Map([[id, { ...budget, handover: handoverFor(config.temporal) }]]),
    (org) =>
      withFeedbackStore(config, async (store) =>
        lastGrantOf(await store.listPasses({ org, limit: tracesRead }), store.restoredAt),
      ),
  );
}
