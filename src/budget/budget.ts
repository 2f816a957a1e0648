import {
  type Client,
  QueryNotRegisteredError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import type {
  BudgetConfirmation,
  ForAWhile,
  LeaseReport,
  OverrideAsk,
  PermitAnswer,
  PermitAsk,
  WindowSettings,
  WindowView,
} from './rules/permits.ts';
import { untilNow } from './rules/earlier-ledger.ts';
import type { BudgetInput, CarriedWindow } from './rules/window-state.ts';
import type { Sender } from '../runs/rules/audit.ts';
import { ExplainedError } from '../rules/explained-error.ts';
import { handoverIn, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { budgetWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import {
  askPermitsUpdate,
  budgetLedgerQuery,
  budgetStateQuery,
  configureBudgetUpdate,
  overrideBudgetUpdate,
  pauseBudgetUpdate,
  reportLeaseSignal,
} from '../definitions.ts';
import type { rateBudget } from '../workflows/rate-budget.ts';
import { attributesOf } from '../search-attributes.ts';
import { hasCode, InFlight, untilAdmitted } from './refused-updates.ts';

/** After this, a new attempt is better than waiting on. */
const answerWithinMs = 10_000;
const describedWithinMs = 3_000;

/** The budget runs on another task queue than this worker's, and the workers of that queue do not answer. */
export class BudgetElsewhere extends ExplainedError {
  override readonly name = 'BudgetElsewhere';
  readonly code = 'BudgetElsewhere';
  readonly hint: string;

  constructor(org: string, taskQueue: string, own: string) {
    super(`the budget of ${org} runs on the task queue ${taskQueue}, where no worker answers`);
    this.hint = `start a worker there, or move the budget to ${own} with \`docferry budget move ${org}\``;
  }
}

/**
 * The budgets of all organizations, through Temporal. The first message to a budget starts it (update-with-start), so
 * there is nothing to set up and no race.
 */
export class BudgetClient {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #settings: ReadonlyMap<string, WindowSettings>;
  readonly #lastGrantIn: (org: string) => Promise<number | null>;
  readonly #inFlight = new InFlight();

  /** `lastGrantIn` says when an earlier ledger may last have granted permits, as far as the stores know (B7). */
  constructor(
    client: Client,
    taskQueue: string,
    settings: ReadonlyMap<string, WindowSettings>,
    lastGrantIn: (org: string) => Promise<number | null> = async () => null,
  ) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#settings = settings;
    this.#lastGrantIn = lastGrantIn;
  }

  /** Asks for permits. Safe to repeat, thanks to the question's id. */
  async ask(org: string, question: PermitAsk): Promise<PermitAnswer> {
    const { installation } = this.#settingsOf(org);
    const asked = installation === undefined ? question : { ...question, installation };
    return this.#update(org, askPermitsUpdate, [asked], { updateId: question.id, withinMs: answerWithinMs });
  }

  async report(org: string, result: LeaseReport): Promise<void> {
    await this.#client.withDeadline(Date.now() + answerWithinMs, () =>
      this.#client.workflow.getHandle(budgetWorkflowId(org)).signal(reportLeaseSignal, result),
    );
  }

  /** Makes the budget follow the configuration; starts it if necessary. By default a worker that starts does so. */
  async configure(org: string, sender: Sender = { who: 'worker, by docferry.yaml' }): Promise<BudgetConfirmation> {
    return this.#update(org, configureBudgetUpdate, [this.#settingsOf(org), sender]);
  }

  /** Overrides limit or reserve by hand, null returns to docferry.yaml; gives the window after it. */
  async override(org: string, override: OverrideAsk | null, sender: Sender = {}): Promise<WindowView> {
    await this.#update(org, overrideBudgetUpdate, [override, sender]);
    if (override === null) await this.configure(org, sender);
    return budgetView(this.#client, org);
  }

  /** Stops granting for a time, or until resumed; null resumes. Gives the window after it. */
  async pause(org: string, pause: ForAWhile | null, sender: Sender = {}): Promise<WindowView> {
    await this.#update(org, pauseBudgetUpdate, [pause, sender]);
    return budgetView(this.#client, org);
  }

  /**
   * Moves a budget that runs on another task queue to this one, with what it remembers if a worker still answers there;
   * otherwise the new one waits out a window (B7). Throws `WorkflowNotFoundError` when none runs.
   */
  async move(org: string, sender: Sender = {}): Promise<'moved' | 'moved-empty' | 'in-place'> {
    const handle = this.#client.workflow.getHandle(budgetWorkflowId(org));
    const { status, taskQueue } = await handle.describe();
    if (status.name !== 'RUNNING') throw new WorkflowNotFoundError('no budget is running', budgetWorkflowId(org), '');
    if (taskQueue === this.#taskQueue) return 'in-place';
    const carried = await this.#takeLedger(org, sender).catch(unlessUnanswered);
    const { workflowId, ...options } = this.#startOptions(org);
    await this.#client.workflow.start<typeof rateBudget>(workflowTypes.rateBudget, {
      ...options,
      workflowId,
      // In one step: no question comes between the end of the old one and the start of the new one.
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      args: [{ ...this.#input(org, untilNow), ...(carried === null ? {} : { carried }) }],
    });
    return carried === null ? 'moved-empty' : 'moved';
  }

  /** What the budget remembers once it grants nothing any more. The pause made for that is not taken along. */
  async #takeLedger(org: string, { who }: Sender): Promise<CarriedWindow> {
    return this.#client.withDeadline(Date.now() + answerWithinMs, async () => {
      const handle = this.#client.workflow.getHandle(budgetWorkflowId(org));
      const { paused } = await handle.query(budgetLedgerQuery);
      const reason = 'the budget moves to another task queue';
      await handle.executeUpdate(pauseBudgetUpdate, {
        args: [{ forMs: null }, { ...(who !== undefined && { who }), reason }],
      });
      return { ...(await handle.query(budgetLedgerQuery)), paused };
    });
  }

  /**
   * Starts the budget if none runs, after looking for signs of an earlier one (B7). The server takes few updates of a
   * workflow at a time: the others wait here for their turn, and for those of other processes.
   */
  async #update<Answer, Args extends [unknown, ...unknown[]]>(
    org: string,
    update: UpdateDefinition<Answer, Args>,
    args: Args,
    { updateId, withinMs = Number.POSITIVE_INFINITY }: { updateId?: string; withinMs?: number } = {},
  ): Promise<Answer> {
    const options = { args, ...(updateId === undefined ? {} : { updateId }) };
    const { workflow } = this.#client;
    const send = <T>(call: () => Promise<T>) =>
      this.#inFlight.run(org, () =>
        untilAdmitted(() =>
          Number.isFinite(withinMs) ? this.#client.withDeadline(Date.now() + withinMs, call) : call(),
        ),
      );
    try {
      return await send(() => workflow.getHandle(budgetWorkflowId(org)).executeUpdate(update, options));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw await this.#explained(org, error);
      const input = this.#input(org, await this.#earlierGrantAt(org));
      return send(() => {
        const startWorkflowOperation = new WithStartWorkflowOperation<typeof rateBudget>(workflowTypes.rateBudget, {
          ...this.#startOptions(org),
          workflowIdConflictPolicy: 'USE_EXISTING',
          args: [input],
        });
        return workflow.executeUpdateWithStart(update, { startWorkflowOperation, ...options });
      });
    }
  }

  /** A budget on another task queue, which may have no worker any more, would not answer for ever. */
  async #explained(org: string, error: unknown): Promise<unknown> {
    if (!isUnanswered(error)) return error;
    const handle = this.#client.workflow.getHandle(budgetWorkflowId(org));
    const described = await this.#client
      .withDeadline(Date.now() + describedWithinMs, () => handle.describe())
      .catch(() => null);
    if (described === null || described.taskQueue === this.#taskQueue) return error;
    return new BudgetElsewhere(org, described.taskQueue, this.#taskQueue);
  }

  /** By id and from the stores: a list of workflows lags behind. */
  async #earlierGrantAt(org: string): Promise<number | null> {
    const signs = await Promise.all([this.#closedAt(org), this.#lastGrantIn(org)]);
    const moments = signs.filter((moment) => moment !== null);
    return moments.length === 0 ? null : Math.max(...moments);
  }

  /** When the organization's last budget ended; null when Temporal knows of none that ended. */
  async #closedAt(org: string): Promise<number | null> {
    try {
      const { closeTime } = await this.#client.workflow.getHandle(budgetWorkflowId(org)).describe();
      return closeTime?.getTime() ?? null;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  #startOptions(org: string) {
    return {
      workflowId: budgetWorkflowId(org),
      taskQueue: this.#taskQueue,
      ...taskTimeoutFor(handoverIn(this.#settingsOf(org))),
      staticSummary: `analytics requests of ${org}`,
      typedSearchAttributes: attributesOf({ org }),
    };
  }

  #input(org: string, earlierGrantAt: number | null): BudgetInput {
    return { org, settings: this.#settingsOf(org), ...(earlierGrantAt === null ? {} : { earlierGrantAt }) };
  }

  #settingsOf(org: string): WindowSettings {
    const settings = this.#settings.get(org);
    if (!settings) throw new Error(`no budget is configured for ${org}`);
    return settings;
  }
}

/** A call whose deadline passes ends as exceeded or, if this side notices first, as cancelled. */
const unanswered: ReadonlySet<number> = new Set(
  Object.values({ cancelled: 1, deadlineExceeded: 4, failedPrecondition: 9 }),
);

/** No worker answered, whatever the error is wrapped in. */
const isUnanswered = (error: unknown): boolean => hasCode(error, unanswered);

/** Null when no worker answers, or one of a version that cannot hand its ledger over. */
function unlessUnanswered(error: unknown): null {
  if (error instanceof QueryNotRegisteredError || isUnanswered(error)) return null;
  throw error;
}

/** The window now; throws `WorkflowNotFoundError` for a budget that never started. */
export async function budgetView(client: Client, org: string): Promise<WindowView> {
  return client.workflow.getHandle(budgetWorkflowId(org)).query(budgetStateQuery, { at: Date.now() });
}
