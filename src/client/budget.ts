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

/** After this, a new attempt is better than waiting on. */
const answerWithinMs = 10_000;

/**
 * The budgets of all organizations, through Temporal. The first question to a budget starts it (update-with-start), so
 * there is nothing to set up and no race.
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

  /** Asks for permits. Safe to repeat, thanks to the question's id. */
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

  /** Makes the budget follow the configuration; starts it if necessary. */
  async configure(org: string): Promise<WindowView> {
    return this.#client.workflow.executeUpdateWithStart(configureBudgetUpdate, {
      startWorkflowOperation: this.#start(org),
      args: [this.#settingsOf(org)],
    });
  }

  /** Overrides limit or reserve by hand; null ends that. */
  async override(org: string, override: OverrideAsk | null): Promise<WindowView> {
    return this.#client.workflow.executeUpdateWithStart(overrideBudgetUpdate, {
      startWorkflowOperation: this.#start(org),
      args: [override],
    });
  }

  /** Stops granting for a time, or until resumed; null resumes. */
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

/** The window now; throws `WorkflowNotFoundError` for a budget that never started. */
export async function budgetView(client: Client, org: string): Promise<WindowView> {
  return client.workflow.getHandle(budgetWorkflowId(org)).query(budgetStateQuery, { at: Date.now() });
}
