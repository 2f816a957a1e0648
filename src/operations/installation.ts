import type { Client } from '@temporalio/client';
import type { BudgetClient } from '../budget/client.ts';
import type { BundleStore } from '../exports/store/bundle-store.ts';
import type { OpenAudit } from '../feedback/store/audit-records.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import type { Failover } from '../temporal/rules/failover.ts';

/** How Temporal and the stores are reached; the configuration says it. */
export interface Access {
  taskQueue: string;
  failover: Failover;
  /** Each opens what the caller closes. */
  connect(): Promise<Client>;
  openFeedback(): Promise<FeedbackStore>;
  openBundles(): Promise<BundleStore>;
  openAudit(): Promise<OpenAudit>;
  budgets(client: Client): BudgetClient;
  /** Asks a worker through Temporal, and gives up after so many milliseconds. */
  askWorker<Answer>(client: Client, ask: () => Promise<Answer>, withinMs?: number): Promise<Answer>;
}

/** One connection to Temporal and to each store for everything that a program does, opened when first needed. */
export class Installation {
  readonly access: Access;
  readonly temporal: () => Promise<Client>;
  readonly feedback: () => Promise<FeedbackStore>;
  readonly bundles: () => Promise<BundleStore>;
  readonly audit: () => Promise<OpenAudit>;
  readonly #closing: (() => Promise<void>)[] = [];

  constructor(access: Access) {
    this.access = access;
    this.temporal = this.#kept(
      () => access.connect(),
      ({ connection }) => connection.close(),
    );
    this.feedback = this.#kept(
      () => access.openFeedback(),
      (store) => store.close(),
    );
    this.bundles = this.#kept(
      () => access.openBundles(),
      async () => {},
    );
    this.audit = this.#kept(
      () => access.openAudit(),
      (audit) => audit.close(),
    );
  }

  /** Asks a worker. Throws what `askWorker` throws when none answers. */
  async ask<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    const client = await this.temporal();
    return this.access.askWorker(client, () => question(client));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#closing.map((close) => close()));
  }

  /** What could not be opened is tried again the next time. */
  #kept<Opened>(open: () => Promise<Opened>, close: (opened: Opened) => Promise<void>): () => Promise<Opened> {
    let opening: Promise<Opened> | null = null;
    this.#closing.push(async () => {
      if (opening !== null) await close(await opening);
    });
    return () => {
      opening ??= open().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return opening;
    };
  }
}
