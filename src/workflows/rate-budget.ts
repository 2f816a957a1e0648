import type { WorkflowDefinitionOptions } from '@temporalio/common';
import {
  allHandlersFinished,
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  defineWorkflowOptions,
  getExternalWorkflowHandle,
  log,
  makeContinueAsNewFunc,
  ParentClosePolicy,
  patched,
  setCurrentDetails,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { getActivator } from '@temporalio/workflow/lib/global-attributes.js';
import { z } from 'zod/mini';
import { messagesPerRun, packed, unpacked, windowAfter, windowAfterReset } from '../budget/rules/carry-window.ts';
import { ask, bringWaitersForward, dropWaiter } from '../budget/rules/grant-or-wait.ts';
import {
  drift,
  type ForAWhile,
  type KeyCheck,
  overrideProblem,
  readOverride,
  readPause,
  readQuestion,
  readReport,
  readSettings,
  readViewMoment,
} from '../budget/rules/permits.ts';
import {
  configure,
  foreignText,
  ignore,
  isForeign,
  isProgram,
  keyCheckStarted,
  report,
  retryKey,
  setOverride,
  setPause,
  wasAhead,
} from '../budget/rules/window.ts';
import { type BudgetInput, readBudgetInput, type WindowState } from '../budget/rules/window-state.ts';
import { describeWindow, detailRows, viewOf } from '../budget/rules/window-view.ts';
import {
  askPermitsUpdate,
  attributesOf,
  budgetLedgerQuery,
  budgetStateQuery,
  configureBudgetUpdate,
  overrideBudgetUpdate,
  pauseBudgetUpdate,
  permitsFreedSignal,
  reportLeaseSignal,
  retryKeySignal,
} from '../contract.ts';
import { reader, text } from '../rules/messages.ts';
import { patientKeyCheckWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import type { AuditAction } from '../runs/rules/audit.ts';
import { failoverIn, nextTaskTimeout, taskTimeoutFor } from '../temporal/rules/failover.ts';
import {
  failureSummary,
  failureType,
  followFailover,
  invalidInput,
  keyCheckOptions,
  nextInput,
  noInput,
  onDecision,
  onQuery,
  onSignal,
  onUpdate,
  pinnedVersioning,
  readInput,
  readsInput,
  runFailover,
  runStep,
  type Sent,
  showFacts,
} from './kit.ts';
import { writeAuditEntry } from './runs.ts';

declare global {
  /** The random numbers with which this run began; Temporal gives every run its own globals. */
  var docferryRandom: (() => number) | undefined;
}

/*
 * `temporal workflow reset` gives a run another seed of random numbers, at the same place of its history in every replay,
 * and tells it nothing else. The SDK takes a new seed before all messages of an activation.
 */

/** Options of a workflow that must notice resets, even one to its first task: the SDK reads them before a reset takes effect. */
function noticesResets(): WorkflowDefinitionOptions {
  resetNoticed();
  return {};
}

/** Whether the run was reset since its begin or since this last said so. */
const wasReset = (): boolean => getActivator().random !== globalThis.docferryRandom;

/** Call when the reset has been taken into account. */
function resetNoticed(): void {
  globalThis.docferryRandom = getActivator().random;
}

/** An organization's only source of permits (B1). Handlers never block: none is open at continue-as-new. */
export async function rateBudget(given: BudgetInput): Promise<void> {
  // One started by hand without its input ends, so that the next question starts a sound one (X5).
  const { org, settings, carried, earlierGrantAt = null } = readInput(readBudgetInput, given);
  // The marker keeps the first task from being empty. A worker that takes over after an empty one handles it together with the
  // next task, a replay handles both apart, and timers then stand at another place among the answers (temporalio/sdk-rust#1146).
  patched('first-task-has-a-marker');
  // What an older version carried may lack what a newer one added.
  let window: WindowState = {
    ...windowAfter(settings, earlierGrantAt, Date.now()),
    ...(carried && unpacked(carried)),
  };
  followFailover(window.settings);
  /** When waiters may get permits without any message. */
  let due: number | null = null;
  let changes = 0;
  /** Signals under way to other workflows. */
  const sending: Promise<void>[] = [];

  /** The window as it is before a message. After a reset, or once a clock is right that was ahead, it counts as full (B7). */
  const known = () => {
    if (wasReset() || wasAhead(window, Date.now())) {
      resetNoticed();
      window = windowAfterReset(window, Date.now());
      // A waiter may be gone since; one that is there may wait longer than the budget said.
      const waiting = window.waiters.filter(({ holder }) => !isProgram(window, holder));
      sending.push(...waiting.map(({ holder }) => wake(holder)));
    }
    return window;
  };
  /** Takes over the window, and wakes waiters that can be served earlier than they expect. */
  const settle = (next: WindowState) => {
    const forward = bringWaitersForward(next, Date.now());
    window = forward.state;
    due = forward.due;
    changes += 1;
    sending.push(...forward.holders.map(wake));
    if (!window.keyChecks.due) return;
    window = keyCheckStarted(window);
    sending.push(startKeyCheck(org));
  };
  /** Wakes a waiter, or forgets it when it is gone. Its scope would end when an operator cancels the budget. */
  const wake = async (holder: string) => {
    try {
      await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(holder).signal(permitsFreedSignal));
    } catch {
      log.info('a waiter for the budget is gone', { holder });
      settle(dropWaiter(window, holder, Date.now()));
    }
  };
  /** Renders the details once an activation, however many messages it brings: a replay must be quick. */
  const keepDetails = async () => {
    for (;;) {
      const shown = window;
      setCurrentDetails(describeWindow(org, viewOf(window, Date.now(), detailRows), Date.now()));
      await condition(() => window !== shown);
    }
  };
  const noticeResets = async () => {
    for (;;) {
      await condition(wasReset);
      settle(known());
    }
  };
  /** Settles, and returns the configuration in force. */
  const confirm = (next: WindowState) => {
    settle(next);
    return { configuredAt: window.settings.configuredAt ?? null };
  };
  const requireOwn = (installation: string | undefined) => {
    if (isForeign(window, installation, Date.now())) throw invalidInput(foreignText);
  };
  const keep = (sent: Sent, action: AuditAction, asked: object | null) => {
    sending.push(writeAuditEntry({ ...sent, action, org, subject: null, detail: JSON.stringify(asked ?? {}) }));
  };
  // By the budget's clock, which stands still while it is ahead of the server's.
  const endOf = ({ forMs }: ForAWhile) => (forMs === null ? null : Math.max(window.now, Date.now()) + forMs);

  onUpdate(askPermitsUpdate, readQuestion, {
    answer: (question) => {
      const [next, granted] = ask(known(), question, Date.now());
      // A turn that moved may let another waiter go earlier.
      settle(next);
      return granted;
    },
    check: ({ installation }) => requireOwn(installation),
    description: 'Asks for permits: grants them at once, or says when to come back.',
  });
  onSignal(reportLeaseSignal, readReport, {
    take: (result) => settle(report(known(), result, Date.now())),
    ignored: () => settle(ignore(known(), Date.now())),
    description: 'Reports which permits of a lease were used; the others become free.',
  });
  onDecision(configureBudgetUpdate, readSettings, {
    answer: (settings, sent) => {
      const before = known().settings;
      const next = configure(known(), settings, Date.now());
      const changed = drift(next.settings, before);
      if (Object.keys(changed).length > 0) keep(sent, 'budget-configure', changed);
      return confirm(next);
    },
    check: ({ installation }) => requireOwn(installation),
    description: 'Takes over limit, reserve and window from the configuration; the audit keeps a change.',
  });
  onDecision(overrideBudgetUpdate, readOverride, {
    answer: (asked, sent) => {
      keep(sent, asked === null ? 'budget-reset' : 'budget-set', asked);
      if (asked === null) return confirm(setOverride(known(), null, Date.now()));
      const { forMs: _span, ...override } = asked;
      return confirm(setOverride(known(), { ...override, until: endOf(asked), by: sent.who }, Date.now()));
    },
    check: (asked) => {
      const problem = asked && overrideProblem(window.settings, asked);
      if (problem !== null) throw invalidInput(problem);
    },
    description: 'Overrides limit or reserve by hand; null ends that.',
  });
  onDecision(pauseBudgetUpdate, readPause, {
    answer: (pause, sent) => {
      keep(sent, pause === null ? 'budget-resume' : 'budget-pause', pause);
      return confirm(setPause(known(), pause && { until: endOf(pause) }, Date.now()));
    },
    description: 'Stops granting for a time or until resumed; null resumes.',
  });
  onSignal(retryKeySignal, noInput, {
    take: () => settle(retryKey(known(), Date.now())),
    ignored: () => settle(ignore(known(), Date.now())),
    description: 'The key may have been changed: try it at once.',
  });
  onQuery(budgetLedgerQuery, () => packed(window), 'The whole state of the budget, for `budget move`.');
  onQuery(
    budgetStateQuery,
    (input) => viewOf(window, Math.max(readViewMoment(input) ?? 0, Date.now())),
    'The window as budget show prints it.',
  );
  settle(known());
  void CancellationScope.nonCancellable(keepDetails);
  void CancellationScope.nonCancellable(noticeResets);

  // A cancelled budget would forget sent requests, and break B1: only termination ends it.
  await CancellationScope.nonCancellable(async () => {
    const runIsLong = () => changes >= messagesPerRun(window) || workflowInfo().continueAsNewSuggested;
    while (!runIsLong()) {
      // A waiter that does not come back must not delay those after it, and overrides end at their time.
      const next = due;
      if (next === null) {
        await condition(() => runIsLong() || due !== null);
        continue;
      }
      const sooner = () => due !== null && due < next;
      const isMoot = await condition(() => runIsLong() || sooner(), Math.max(1, next - Date.now()), {
        summary: 'check whether a waiter can go earlier',
      });
      if (!isMoot) settle(known());
    }
    // A signal sent in the same task as continue-as-new would be lost.
    while (sending.length > 0) await Promise.all(sending.splice(0));
    await condition(allHandlersFinished);
    const taskTimeout = nextTaskTimeout(failoverIn(window.settings), workflowInfo().taskTimeoutMs);
    const next = { org, settings: window.settings, carried: packed(window) };
    await makeContinueAsNewFunc<typeof rateBudget>(taskTimeout)(nextInput(next));
  });
}

/** After a program's 401. Never throws: if a check is already running, that one is enough. */
async function startKeyCheck(org: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() =>
      startChild<typeof checkKey>(workflowTypes.checkKey, {
        workflowId: patientKeyCheckWorkflowId(org),
        workflowExecutionTimeout: '1h',
        ...taskTimeoutFor(runFailover()),
        staticSummary: `key of ${org}, after a program's 401`,
        typedSearchAttributes: attributesOf({ org }),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
        args: [{ org, patient: true }],
      }),
    );
  } catch (error) {
    log.info('the key is not checked once more', { org, failure: failureSummary(error) });
  }
}

defineWorkflowOptions(rateBudget, { ...readsInput, workflowDefinitionOptions: noticesResets });

const readCheck = reader(z.object({ org: text(), patient: z.exactOptional(z.boolean()) }));

/** A worker asks the service once with the key it has. A patient check waits for a permit of the budget. */
export async function checkKey(given: { org: string; patient?: boolean }): Promise<KeyCheck> {
  const { org, patient = false } = readInput(readCheck, given);
  let check = await askService(org, patient);
  while (patient && check.outcome === 'no-permit') {
    await sleep(Math.max(1_000, check.until - Date.now()), { summary: 'the budget has no permit' });
    check = await askService(org, patient);
  }
  const detail = 'type' in check ? check.type : '';
  showFacts(`**Key of ${org}**`, [
    ['outcome', check.outcome],
    ['detail', detail],
  ]);
  return check;
}

/** Of workers that lack the organization one after the other, so many are asked. */
const workersAsked = 4;

/** A worker that lacks the organization has sent nothing: another one may have it. */
async function askService(org: string, patient: boolean): Promise<KeyCheck> {
  const input = { org, ...(patient && { patient }) };
  for (let asked = 1; ; asked += 1) {
    try {
      return await runStep('checkKey', keyCheckOptions, `one request with the key of ${org}`, input);
    } catch (error) {
      if (failureType(error) !== 'InvalidInput' || asked >= workersAsked || !patched('checkKey-elsewhere')) throw error;
      await sleep('10s', { summary: 'for another worker, or its new configuration' });
    }
  }
}

defineWorkflowOptions(checkKey, { ...readsInput, workflowDefinitionOptions: pinnedVersioning });
