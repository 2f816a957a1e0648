import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  QueryNotRegisteredError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import type { Config } from '../config/config.ts';
import {
  askPermitsUpdate,
  attributesOf,
  budgetLedgerQuery,
  budgetStateQuery,
  configureBudgetUpdate,
  overrideBudgetUpdate,
  pauseBudgetUpdate,
  reportLeaseSignal,
  retryKeySignal,
  type Workflows,
} from '../contract.ts';
import { ExplainedError } from '../rules/errors.ts';
import {
  budgetWorkflowId,
  keyCheckWorkflowId,
  searchAttributes,
  targetOfWorkflowId,
  workflowTypes,
} from '../rules/workflow-ids.ts';
import type { Actor } from '../runs/rules/audit.ts';
import { Semaphore } from '../semaphore.ts';
import { failoverFor, grpc, hasCode } from '../temporal/connection.ts';
import { type Failover, failoverIn, priorityOf, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { callsAtOnce, inBatches } from '../temporal/runs.ts';
import { lastGrantOf, type PassTrace, untilNow, windowAfter } from './rules/carry-window.ts';
import type {
  BudgetConfirmation,
  ForAWhile,
  KeyCheck,
  LeaseReport,
  OverrideAsk,
  PermitAnswer,
  PermitAsk,
  WindowSettings,
} from './rules/permits.ts';
import type { BudgetInput, CarriedWindow } from './rules/window-state.ts';
import { viewOf, type WindowView } from './rules/window-view.ts';

/** Updates of one workflow that a process sends at a time. The server takes ten, of all processes together. */
const mostInFlight = 5;

/** Work for each of several workflows, a few at a time for each; the others wait in their order. */
export class InFlight {
  readonly #slots = new Map<string, Semaphore>();

  run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const slots = this.#slots.get(name) ?? new Semaphore(mostInFlight);
    this.#slots.set(name, slots);
    return slots.use(undefined, work);
  }
}

/** The workflow has ten updates already, of other processes: they are answered soon. */
const crowdedForMs = 60_000;
/** The server refuses updates after a failed workflow task, such as when a message crosses continue-as-new, and without a worker. */
const betweenTasksForMs = 5_000;
const pauseMs = 250;

/** Sends an update, which has an id or may be repeated, until the server admits it; throws the last refusal. */
export async function untilAdmitted<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  const since = performance.now();
  for (;;) {
    try {
      return await send();
    } catch (error) {
      const passed = performance.now() - since;
      const isRefused =
        (hasCode(error, grpc.resourceExhausted) && passed < crowdedForMs) ||
        (hasCode(error, grpc.failedPrecondition) && passed < betweenTasksForMs);
      if (!isRefused) throw error;
      // Processes that were refused together do not come again together.
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}

/** After this, a new attempt is better than waiting on. */
const answerWithinMs = 10_000;
const describedWithinMs = 3_000;

/** A budget that is being moved is paused for this long: one whose successor could not be started then grants again. */
const movedWithinMs = 5 * 60_000;

/** The budget runs on another task queue than this worker's, and the workers of that queue do not answer. */
export class BudgetElsewhere extends ExplainedError {
  override readonly name = 'BudgetElsewhere';
  readonly code = 'BudgetElsewhere';

  constructor(org: string, taskQueue: string, own: string) {
    const hint = `start a worker there, or move the budget to ${own} with \`docferry budget move ${org}\``;
    super(`the budget of ${org} runs on the task queue ${taskQueue}, where no worker answers`, hint);
  }
}

/** The budgets of all organizations. The first message to one starts it (update-with-start), so there is no race. */
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
  async configure(org: string, actor: Actor = { who: 'worker, by docferry.yaml' }): Promise<BudgetConfirmation> {
    return this.#update(org, configureBudgetUpdate, [this.#settingsOf(org), actor]);
  }

  /** Overrides limit or reserve by hand, null returns to docferry.yaml; gives the window after it. */
  async override(
    org: string,
    override: OverrideAsk | null,
    actor: Actor = {},
    updateId: string = randomUUID(),
  ): Promise<WindowView> {
    await this.#update(org, overrideBudgetUpdate, [override, actor], { updateId });
    if (override === null) await this.configure(org, actor);
    return budgetView(this.#client, org);
  }

  /** Stops granting for a time, or until resumed; null resumes. Gives the window after it. */
  async pause(
    org: string,
    pause: ForAWhile | null,
    actor: Actor = {},
    updateId: string = randomUUID(),
  ): Promise<WindowView> {
    await this.#update(org, pauseBudgetUpdate, [pause, actor], { updateId });
    return budgetView(this.#client, org);
  }

  /**
   * Moves a budget that runs on another task queue to this one, with what it remembers if a worker still answers there;
   * otherwise the new one waits out a window (B7). Throws `WorkflowNotFoundError` when none runs.
   */
  async move(org: string, actor: Actor = {}): Promise<'moved' | 'moved-empty' | 'in-place'> {
    const handle = this.#client.workflow.getHandle(budgetWorkflowId(org));
    const { status, taskQueue } = await handle.describe();
    if (status.name !== 'RUNNING') throw new WorkflowNotFoundError('no budget is running', budgetWorkflowId(org), '');
    if (taskQueue === this.#taskQueue) return 'in-place';
    const carried = await this.#takeLedger(org, actor).catch(unlessUnanswered);
    await this.#client.withDeadline(Date.now() + answerWithinMs, () =>
      this.#client.workflow.start<Workflows['rateBudget']>(workflowTypes.rateBudget, {
        ...this.#startOptions(org),
        // In one step: no question comes between the end of the old one and the start of the new one.
        workflowIdConflictPolicy: 'TERMINATE_EXISTING',
        args: [{ ...this.#input(org, untilNow), ...(carried === null ? {} : { carried }) }],
      }),
    );
    return carried === null ? 'moved-empty' : 'moved';
  }

  /** What the budget remembers once it grants nothing any more. The pause made for that is not taken along. */
  async #takeLedger(org: string, { who }: Actor): Promise<CarriedWindow> {
    return this.#client.withDeadline(Date.now() + answerWithinMs, async () => {
      const handle = this.#client.workflow.getHandle(budgetWorkflowId(org));
      const { paused, now } = await handle.query(budgetLedgerQuery);
      const reason = 'the budget moves to another task queue';
      // No shorter than the pause of a person, which this one replaces.
      const forMs = paused?.until === null ? null : Math.max(movedWithinMs, (paused?.until ?? now) - now);
      await handle.executeUpdate(pauseBudgetUpdate, {
        args: [{ forMs }, { ...(who !== undefined && { who }), reason }],
      });
      return { ...(await handle.query(budgetLedgerQuery)), paused };
    });
  }

  /** Starts the budget if none runs, after looking for signs of an earlier one (B7). */
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
        const startWorkflowOperation = new WithStartWorkflowOperation<Workflows['rateBudget']>(
          workflowTypes.rateBudget,
          {
            ...this.#startOptions(org),
            workflowIdConflictPolicy: 'USE_EXISTING',
            args: [input],
          },
        );
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
      ...taskTimeoutFor(failoverIn(this.#settingsOf(org))),
      ...priorityOf('urgent', org),
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

/** What a feedback store knows of requests under an earlier ledger. */
interface LedgerTraces {
  readonly restoredAt: Date | null;
  listPasses(of: { org: string; limit: number }): Promise<readonly PassTrace[]>;
}

/** Passes among which signs of an earlier ledger are looked for, the newest ones. */
const tracesRead = 500;

/** The budgets of the configuration. `withStore` is called only when a budget must be started. */
export function budgetClientOf(
  client: Client,
  { temporal, organizations }: Pick<Config, 'temporal' | 'organizations'>,
  withStore: <Result>(work: (store: LedgerTraces) => Promise<Result>) => Promise<Result>,
  installation?: string,
): BudgetClient {
  const common = { failover: failoverFor(temporal), ...(installation !== undefined && { installation }) };
  const settings = new Map(organizations.map(({ id, budget }) => [id, { ...budget, ...common }]));
  return new BudgetClient(client, temporal.taskQueue, settings, (org) =>
    withStore(async (store) => lastGrantOf(await store.listPasses({ org, limit: tracesRead }), store.restoredAt)),
  );
}

/** A call whose deadline passes ends as exceeded or, if this side notices first, as cancelled. */
const isUnanswered = (error: unknown): boolean =>
  hasCode(error, grpc.cancelled, grpc.deadlineExceeded, grpc.failedPrecondition);

/** Null when no worker answers, or one of a version that cannot hand its ledger over. */
function unlessUnanswered(error: unknown): null {
  if (error instanceof QueryNotRegisteredError || isUnanswered(error)) return null;
  throw error;
}

/**
 * The window now; throws `WorkflowNotFoundError` for a budget that never started. Of one that ended, what its successor
 * begins with (B7): nobody grants by the old ledger any more.
 */
export async function budgetView(client: Client, org: string): Promise<WindowView> {
  const handle = client.workflow.getHandle(budgetWorkflowId(org));
  const now = Date.now();
  const [{ closeTime }, view] = await Promise.all([handle.describe(), handle.query(budgetStateQuery, { at: now })]);
  if (closeTime === undefined) return view;
  const { settings } = await handle.query(budgetLedgerQuery);
  return viewOf(windowAfter(settings, closeTime.getTime(), now), now);
}

/** Like `retryKeys`, of one organization. */
export async function retryKey(client: Client, org: string): Promise<void> {
  await retryKeys(client, new Set([org]));
}

/** Tells all that waits for these organizations' keys (exports by one search, budgets) that they may have changed. */
export async function retryKeys(client: Client, orgs: ReadonlySet<string>): Promise<void> {
  const [only, ...others] = orgs;
  const query = [
    `WorkflowType = "${workflowTypes.exportSite}"`,
    ...(others.length === 0 ? [`${searchAttributes.org} = "${only}"`] : []),
    `${searchAttributes.phase} = "unauthorized"`,
    'ExecutionStatus = "Running"',
  ].join(' AND ');
  const ids = [...orgs].map(budgetWorkflowId);
  for await (const { workflowId } of client.workflow.list({ query })) {
    if (orgs.has(targetOfWorkflowId(workflowId)?.org ?? '')) ids.push(workflowId);
  }
  await inBatches(ids, callsAtOnce, (workflowId) => signalIfThere(client, workflowId));
}

async function signalIfThere(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).signal(retryKeySignal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/**
 * Terminates all budgets, and those of `orgs`, which a list may not show yet; gives the organizations' ids. Their
 * successors find that they ended, and grant nothing until one window later (B7).
 */
export async function endBudgets(client: Client, orgs: readonly string[], reason: string): Promise<string[]> {
  const ids = new Set(orgs.map(budgetWorkflowId));
  const query = `WorkflowType = '${workflowTypes.rateBudget}' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of client.workflow.list({ query })) ids.add(workflowId);
  const ended: string[] = [];
  for (const id of ids) {
    try {
      await client.workflow.getHandle(id).terminate(reason);
      ended.push(id.slice(budgetWorkflowId('').length));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return ended.sort();
}

/** Has a worker try the key with one request at most; joins a running check. Throws `WorkflowFailedError`. */
export async function askForKeyCheck(
  client: Client,
  taskQueue: string,
  org: string,
  failover: Failover,
): Promise<KeyCheck> {
  return client.workflow.execute<Workflows['checkKey']>(workflowTypes.checkKey, {
    workflowId: keyCheckWorkflowId(org),
    taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowExecutionTimeout: '2m',
    ...taskTimeoutFor(failover),
    args: [{ org }],
    staticSummary: `key of ${org}`,
    typedSearchAttributes: attributesOf({ org }),
  });
}
