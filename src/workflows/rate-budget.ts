import {
  allHandlersFinished,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  makeContinueAsNewFunc,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import {
  readInput,
  readOverride,
  readPause,
  readQuestion,
  readReport,
  readSettings,
  readViewMoment,
} from '../model/budget/budget-messages.ts';
import { describeWindow } from '../model/budget/budget-text.ts';
import { windowAfter } from '../model/budget/earlier-ledger.ts';
import { foreignText, isForeign } from '../model/budget/installations.ts';
import { type ForAWhile, overrideProblem } from '../model/budget/permits.ts';
import {
  ask,
  bringWaitersForward,
  configure,
  ignore,
  nextChange,
  report,
  retryKey,
  setOverride,
  setPause,
} from '../model/budget/sliding-window.ts';
import type { BudgetInput, WindowState } from '../model/budget/window-state.ts';
import { viewOf } from '../model/budget/window-view.ts';
import { Misshapen } from '../model/message-readers.ts';
import { handoverIn, nextTaskTimeout } from '../model/temporal-settings.ts';
import {
  askPermitsUpdate,
  budgetLedgerQuery,
  budgetStateQuery,
  configureBudgetUpdate,
  overrideBudgetUpdate,
  pauseBudgetUpdate,
  permitsFreedSignal,
  reportLeaseSignal,
  retryKeySignal,
} from './definitions.ts';
import { noInput, onQuery, onSignal, onUpdate, refusal } from './handle-messages.ts';

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
  const { org, settings, carried, earlierGrantAt = null } = requireInput(input);
  // What an older version carried may lack what a newer one added.
  let window: WindowState = { ...windowAfter(settings, earlierGrantAt, Date.now()), ...carried };
  let messages = 0;
  const wakes: Promise<void>[] = [];

  /** Takes over the window, and wakes waiters that can come earlier than told. */
  const settle = (next: WindowState) => {
    const { state, holders } = bringWaitersForward(next, Date.now());
    window = state;
    wakes.push(...holders.map(wake));
  };
  /** Renders the details once an activation, however many messages it brings: a replay must be quick. */
  const keepDetails = async () => {
    for (;;) {
      const shown = window;
      setCurrentDetails(describeWindow(org, viewOf(window, Date.now()), Date.now()));
      await condition(() => window !== shown);
    }
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
  const requireOwn = (installation: string | undefined) => {
    if (isForeign(window, installation, Date.now())) throw refusal(foreignText);
  };
  const endOf = ({ forMs }: ForAWhile) => (forMs === null ? null : Date.now() + forMs);

  onUpdate(askPermitsUpdate, readQuestion, {
    answer: (question) => {
      const [next, granted] = ask(window, question, Date.now());
      // A turn that moved may let another waiter go earlier.
      take(next);
      return granted;
    },
    check: ({ installation }) => requireOwn(installation),
    description: 'Asks for permits: grants them at once, or says when to come back.',
  });
  onSignal(reportLeaseSignal, readReport, {
    take: (result) => take(report(window, result, Date.now())),
    ignored: () => take(ignore(window, Date.now())),
    description: 'Reports which permits of a lease were used; the others become free.',
  });
  onUpdate(configureBudgetUpdate, readSettings, {
    answer: (settings) => answer(configure(window, settings, Date.now())),
    check: ({ installation }) => requireOwn(installation),
    description: 'Takes over limit, reserve and window from the configuration.',
  });
  onUpdate(overrideBudgetUpdate, readOverride, {
    answer: (asked) => {
      if (asked === null) return answer(setOverride(window, null, Date.now()));
      const { forMs: _span, ...override } = asked;
      return answer(setOverride(window, { ...override, until: endOf(asked) }, Date.now()));
    },
    check: (asked) => {
      const problem = asked && overrideProblem(window.settings, asked);
      if (problem !== null) throw refusal(problem);
    },
    description: 'Overrides limit or reserve by hand; null ends that.',
  });
  onUpdate(pauseBudgetUpdate, readPause, {
    answer: (pause) => answer(setPause(window, pause && { until: endOf(pause) }, Date.now())),
    description: 'Stops granting for a time or until resumed; null resumes.',
  });
  onSignal(retryKeySignal, noInput, {
    take: () => take(retryKey(window, Date.now())),
    ignored: () => take(ignore(window, Date.now())),
    description: 'The key may have been changed: try it at once.',
  });
  onQuery(budgetLedgerQuery, () => window, 'All that the budget remembers, for `budget move`.');
  onQuery(
    budgetStateQuery,
    (input) => viewOf(window, Math.max(readViewMoment(input) ?? 0, Date.now())),
    'The window as budget show prints it.',
  );
  settle(window);
  void CancellationScope.nonCancellable(keepDetails);

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
    const taskTimeout = nextTaskTimeout(handoverIn(window.settings), workflowInfo().taskTimeoutMs);
    await makeContinueAsNewFunc<typeof rateBudget>(taskTimeout)({ org, settings: window.settings, carried: window });
  });
}

/** A budget started by hand without its input ends, so that the next question starts a sound one (X5). */
function requireInput(input: unknown): BudgetInput {
  try {
    return readInput(input);
  } catch (error) {
    throw error instanceof Misshapen ? refusal(error.message) : error;
  }
}

/** Wakes a waiter unless it is gone. Handlers call it too, whose scope ends when an operator cancels the budget. */
async function wake(holder: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(holder).signal(permitsFreedSignal));
  } catch {
    log.info('a waiter for the budget is gone', { holder });
  }
}
