import type { Client } from '@temporalio/client';
import type { BudgetClient } from '../budget/client.ts';
import type { WindowSettings } from '../budget/rules/permits.ts';
import type { BundleStore } from '../exports/store/bundle-store.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import type { Trouble } from '../operations/status.ts';
import type { ConfiguredOrganization } from '../schedules/rules/desired-schedules.ts';
import type { Failover } from '../temporal/rules/failover.ts';

/** An organization as far as the console needs it. */
export interface ShownOrganization extends ConfiguredOrganization {
  budget: WindowSettings;
  projects: readonly (ConfiguredOrganization['projects'][number] & { name?: string })[];
  sites: readonly (ConfiguredOrganization['sites'][number] & { rollout: readonly { name: string }[] })[];
}

/** What the console shows and how it asks for it; the command line makes it of the configuration. */
export interface ConsoleSetting {
  organizations: readonly ShownOrganization[];
  taskQueue: string;
  failover: Failover;
  /** For links; null when it is not known. */
  temporalUi: string | null;
  namespace: string;
  /** Each opens what the caller closes. */
  connect(): Promise<Client>;
  openFeedback(): Promise<FeedbackStore>;
  openBundles(): Promise<BundleStore>;
  budgets(client: Client): BudgetClient;
  /** Any failure, as the command line explains it. */
  explain(error: unknown): Trouble;
  /** Asks a worker through Temporal, with a limit in time. */
  askWorker<Answer>(client: Client, ask: () => Promise<Answer>): Promise<Answer>;
}
