import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  makeContinueAsNewFunc,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { describeWindow } from '../model/budget/budget-text.ts';
import { type ForAWhile, overrideProblem, type WindowSettings } from '../model/budget/permits.ts';
import {
  ask,
  bringWaitersForward,
  configure,
  nextChange,
  report,
  retryKey,
  setOverride,
  setPause,
} from '../model/budget/sliding-window.ts';
import { emptyWindow, type WindowState } from '../model/budget/window-state.ts';
import { viewOf } from '../model/budget/window-view.ts';
import {
  askPermitsUpdate,
  budgetStateQuery,
  configureBudgetUpdate,
  overrideBudgetUpdate,
  pauseBudgetUpdate,
  permitsFreedSignal,
  reportLeaseSignal,
  retryKeySignal,
} from './definitions.ts';

export interface BudgetInput {
  org: string;
  settings: WindowSettings;
  /** Set by continue-as-new only. */
  carried?: WindowState;
}

/**
 * Messages a run takes before it continues as new. The server refuses more than 2,000 updates per run; well before that,
 * the run must be short enough for another worker to replay it within the workflow task time-out.
 */
const messagesPerRun = 300;

/**
 * The sliding window of one organization, the only source of permits (B1). Handlers never block, so none is open at
 * continue-as-new; the window itself is pure code in the model.
 */
export async function rateBudget(input: BudgetInput): Promise<void> {
  let window = input.carried ?? emptyWindow(input.settings, Date.now());
  let messages = 0;
  const wakes: Promise<void>[] = [];
  const continueAsNew = makeContinueAsNewFunc<typeof rateBudget>();

  /** Takes over the window, and wakes waiters that can come earlier than told. */
  const settle = (next: WindowState) => {
    const { state, holders } = bringWaitersForward(next, Date.now());
    window = state;
    wakes.push(...holders.map(wake));
    setCurrentDetails(describeWindow(input.org, viewOf(window, Date.now()), Date.now()));
  };
  const take = (next: WindowState) => {
    messages += 1;
    settle(next);
  };
  /** As `take`, and returns the window after it. */
  const answer = (next: WindowState) => {
    take(next);
    return viewOf(window, Date.now());
  };
  const endOf = ({ forMs }: ForAWhile) => (forMs === null ? null : Date.now() + forMs);

  setHandler(
    askPermitsUpdate,
    (question) => {
      const [next, granted] = ask(window, question, Date.now());
      // A turn that moved may let another waiter go earlier.
      take(next);
      return granted;
    },
    { description: 'Asks for permits: grants them at once, or says when to come back.' },
  );
  setHandler(reportLeaseSignal, (result) => take(report(window, result, Date.now())), {
    description: 'Reports which permits of a lease were used; the others become free.',
  });
  setHandler(configureBudgetUpdate, (settings) => answer(configure(window, settings, Date.now())), {
    description: 'Takes over limit, reserve and window from the configuration.',
  });
  setHandler(
    overrideBudgetUpdate,
    (asked) => {
      if (asked === null) return answer(setOverride(window, null, Date.now()));
      const { forMs: _span, ...override } = asked;
      return answer(setOverride(window, { ...override, until: endOf(asked) }, Date.now()));
    },
    {
      description: 'Overrides limit or reserve by hand; null ends that.',
      validator: (asked) => requireSound(asked && overrideProblem(window.settings, asked)),
    },
  );
  setHandler(pauseBudgetUpdate, (pause) => answer(setPause(window, pause && { until: endOf(pause) }, Date.now())), {
    description: 'Stops granting for a time or until resumed; null resumes.',
  });
  setHandler(retryKeySignal, () => take(retryKey(window, Date.now())), {
    description: 'The key may have been changed: try it at once.',
  });
  setHandler(budgetStateQuery, ({ at } = {}) => viewOf(window, Math.max(at ?? 0, Date.now())), {
    description: 'The window as budget show prints it.',
  });
  settle(window);

  // Cancelling the budget would lose what was sent, and with it B1: only termination ends it.
  await CancellationScope.nonCancellable(async () => {
    const runIsLong = () => messages >= messagesPerRun || workflowInfo().continueAsNewSuggested;
    while (!runIsLong()) {
      // A waiter that does not come back must not delay those behind it, and overrides end at their time.
      const due = nextChange(window);
      if (due === null) {
        await condition(() => runIsLong() || nextChange(window) !== null);
        continue;
      }
      const sooner = () => (nextChange(window) ?? due) < due;
      await condition(() => runIsLong() || sooner(), Math.max(1, due - Date.now()), {
        summary: 'check whether a waiter can go earlier',
      });
      settle(window);
    }
    // A wake-up sent in the same task as continue-as-new would be lost.
    while (wakes.length > 0) await Promise.all(wakes.splice(0));
    await condition(allHandlersFinished);
    await continueAsNew({ org: input.org, settings: window.settings, carried: window });
  });
}

function requireSound(problem: string | null): void {
  if (problem !== null) throw ApplicationFailure.nonRetryable(problem, 'InvalidInput');
}

/** Wakes a waiter unless it is gone. Handlers call it too, whose scope ends when an operator cancels the budget. */
async function wake(holder: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(holder).signal(permitsFreedSignal));
  } catch {
    log.info('a waiter for the budget is gone', { holder });
  }
}
