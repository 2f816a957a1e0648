import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import type {
  ForAWhile,
  LeaseReport,
  OverrideAsk,
  PermitAnswer,
  PermitAsk,
  WindowSettings,
  WindowView,
} from '../model/budget/permits.ts';
import { workflowTaskTimeoutMs } from '../model/temporal-terms.ts';
import { budgetWorkflowId, workflowTypes } from '../model/workflow-ids.ts';
import {
  askPermitsUpdate,
  budgetStateQuery,
  configureBudgetUpdate,
  overrideBudgetUpdate,
  pauseBudgetUpdate,
  reportLeaseSignal,
} from '../workflows/definitions.ts';
import type { rateBudget } from '../workflows/rate-budget.ts';
import { attributesOf } from '../workflows/search-attributes.ts';

/** An answer that takes longer is worth less than a new attempt. */
const answerWithinMs = 10_000;

/**
 * The budgets of all organizations, asked through Temporal. The first question to a budget starts it
 * (update-with-start), so there is nothing to set up and nothing to race for.
 */
export class BudgetClient {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #settings: ReadonlyMap<string, WindowSettings>;

  constructor(client: Client, taskQueue: string, settings: ReadonlyMap<string, WindowSettings>) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#settings = settings;
  }

  /** Asks for permits. The question's id makes a repeated question harmless. */
  async ask(org: string, question: PermitAsk): Promise<PermitAnswer> {
    return this.#client.withDeadline(Date.now() + answerWithinMs, () =>
      this.#client.workflow.executeUpdateWithStart(askPermitsUpdate, {
        startWorkflowOperation: this.#start(org),
        updateId: question.id,
        args: [question],
      }),
    );
  }

  async report(org: string, result: LeaseReport): Promise<void> {
    await this.#client.withDeadline(Date.now() + answerWithinMs, () =>
      this.#client.workflow.getHandle(budgetWorkflowId(org)).signal(reportLeaseSignal, result),
    );
  }

  /** Makes the budget follow the configuration; starts it if it does not run yet. */
  async configure(org: string): Promise<WindowView> {
    return this.#client.workflow.executeUpdateWithStart(configureBudgetUpdate, {
      startWorkflowOperation: this.#start(org),
      args: [this.#settingsOf(org)],
    });
  }

  /** Sets limit or reserve by hand, or gives the word back to the configuration with null. */
  async override(org: string, override: OverrideAsk | null): Promise<WindowView> {
    return this.#client.workflow.executeUpdateWithStart(overrideBudgetUpdate, {
      startWorkflowOperation: this.#start(org),
      args: [override],
    });
  }

  /** Stops granting for a while, or until resumed; null resumes. */
  async pause(org: string, pause: ForAWhile | null): Promise<WindowView> {
    return this.#client.workflow.executeUpdateWithStart(pauseBudgetUpdate, {
      startWorkflowOperation: this.#start(org),
      args: [pause],
    });
  }

  #start(org: string): WithStartWorkflowOperation<typeof rateBudget> {
    return new WithStartWorkflowOperation<typeof rateBudget>(workflowTypes.rateBudget, {
      workflowId: budgetWorkflowId(org),
      taskQueue: this.#taskQueue,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowTaskTimeout: workflowTaskTimeoutMs,
      args: [{ org, settings: this.#settingsOf(org) }],
      staticSummary: `analytics requests of ${org}`,
      typedSearchAttributes: attributesOf({ org }),
    });
  }

  #settingsOf(org: string): WindowSettings {
    const settings = this.#settings.get(org);
    if (!settings) throw new Error(`no budget is configured for ${org}`);
    return settings;
  }
}

/** The window as it is now; throws `WorkflowNotFoundError` when nothing was ever asked of it. */
export async function budgetView(client: Client, org: string): Promise<WindowView> {
  return client.workflow.getHandle(budgetWorkflowId(org)).query(budgetStateQuery, { at: Date.now() });
}
