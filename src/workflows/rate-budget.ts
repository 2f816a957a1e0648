import {
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
import { clockTime, factsTable, spanText } from '../model/details-text.ts';
import type { WindowSettings } from '../model/permits.ts';
import {
  ask,
  configure,
  earlierThanTold,
  emptyWindow,
  firstLapse,
  report,
  viewOf,
  type WindowState,
} from '../model/sliding-window.ts';
import {
  askPermitsUpdate,
  budgetStateQuery,
  configureBudgetUpdate,
  permitsFreedSignal,
  reportLeaseSignal,
} from './definitions.ts';

export interface BudgetInput {
  org: string;
  settings: WindowSettings;
  /** Set by continue-as-new only. */
  carried?: WindowState;
}

/** Messages a run takes before it continues as new: the server refuses more than 2,000 updates a run. */
const messagesPerRun = 1_000;

/**
 * The sliding window of one organization, the only one who grants permits (DESIGN B1). Handlers never block, so none
 * is ever open at continue-as-new; the window itself is pure code in the model.
 */
export async function rateBudget(input: BudgetInput): Promise<void> {
  let window = input.carried ?? emptyWindow(input.settings, Date.now());
  let messages = 0;
  const wakes: Promise<void>[] = [];
  const continueAsNew = makeContinueAsNewFunc<typeof rateBudget>();

  const changed = () => {
    messages += 1;
    setCurrentDetails(describeWindow(input.org, window, Date.now()));
  };
  const wakeWaiters = () => {
    const { state, holders } = earlierThanTold(window, Date.now());
    window = state;
    wakes.push(...holders.map(wake));
  };

  setHandler(
    askPermitsUpdate,
    (question) => {
      const [next, answer] = ask(window, question, Date.now());
      window = next;
      changed();
      return answer;
    },
    { description: 'Asks for permits; granted at once or told when to come back.' },
  );
  setHandler(
    reportLeaseSignal,
    (result) => {
      window = report(window, result, Date.now());
      wakeWaiters();
      changed();
    },
    { description: 'Reports which permits of a lease were used; the others come back.' },
  );
  setHandler(
    configureBudgetUpdate,
    (settings) => {
      window = configure(window, settings, Date.now());
      wakeWaiters();
      changed();
      return viewOf(window, Date.now());
    },
    { description: 'Takes over limit, reserve and window from the configuration.' },
  );
  setHandler(budgetStateQuery, ({ at } = {}) => viewOf(window, Math.max(at ?? 0, Date.now())), {
    description: 'The window as budget show prints it.',
  });
  setCurrentDetails(describeWindow(input.org, window, Date.now()));

  // Cancelling the budget would lose its ledger, and with it the promise: only termination ends it.
  await CancellationScope.nonCancellable(async () => {
    const runIsLong = () => messages >= messagesPerRun || workflowInfo().continueAsNewSuggested;
    while (!runIsLong()) {
      // Whoever does not come back must not keep those behind waiting.
      const lapse = firstLapse(window);
      if (lapse === null) {
        await condition(() => runIsLong() || firstLapse(window) !== null);
      } else {
        await condition(runIsLong, Math.max(1, lapse - Date.now()), { summary: 'first place in the queue lapses' });
        wakeWaiters();
      }
    }
    // A wake-up sent in the same task as continue-as-new would be lost.
    while (wakes.length > 0) await Promise.all(wakes.splice(0));
    await condition(allHandlersFinished);
    await continueAsNew({ org: input.org, settings: window.settings, carried: window });
  });
}

/** A waiter that is gone needs no waking. */
async function wake(holder: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(holder).signal(permitsFreedSignal);
  } catch {
    log.info('a waiter for the budget is gone', { holder });
  }
}

function describeWindow(org: string, window: WindowState, now: number): string {
  const view = viewOf(window, now);
  const facts: [string, string][] = [
    ['window', `${view.limit} requests in ${spanText(view.windowMs)}, ${view.reserve} left to others`],
    ['used', `${view.used}`],
    ['free now', `${view.available}`],
  ];
  if (view.nextFreeAt !== null) facts.push(['next free', clockTime(view.nextFreeAt)]);
  if (view.pausedUntil !== null) facts.push(['paused by the service until', clockTime(view.pausedUntil)]);
  if (view.throttledInWindow > 0) facts.push(['refusals (429) in this window', `${view.throttledInWindow}`]);
  for (const holder of view.holders) facts.push(['in use', `${holder.workflowId}: ${holder.permits}`]);
  for (const waiter of view.waiters) {
    facts.push(['waiting', `${waiter.workflowId} (${waiter.class}), expected ${clockTime(waiter.expectedAt)}`]);
  }
  return `**Budget of ${org}** as of ${clockTime(now)}\n\n${factsTable(facts)}`;
}
