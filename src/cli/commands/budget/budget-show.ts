import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../../../budget/client.ts';
import type { WindowView } from '../../../budget/rules/permits.ts';
import { untouchedView } from '../../../budget/rules/window-view.ts';
import type { Config, OrganizationConfig } from '../../../config/config.ts';
import { clockTime, naturalOrder } from '../../../rules/text.ts';
import { callsAtOnce, inBatches } from '../../../temporal/runs.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { duration } from '../../flags.ts';
import { findOrganization } from '../../selection.ts';
import { type Session, withTemporal } from '../../session.ts';
import type { Step } from '../../terminal/output.ts';
import { fittingLines, type Output } from '../../terminal/output.ts';
import { onInterrupt } from '../../terminal/prompts.ts';
import { askWorker } from '../../waiting.ts';
import { budgetDocument, budgetLines, budgetOrg, budgetTable, budgetText, pauseWords } from './budget-view.ts';

export default {
  show: (command, run) => command.argument('[org]', budgetOrg).action(run(showBudget)),
  watch: (command, run) =>
    command
      .argument('[org]', budgetOrg)
      .option('--for <duration>', 'end after this time, e.g. 10m', duration('--for'))
      .action(run(watchBudget)),
} satisfies CommandFile;

/** An organization's window now; as configured and all free if it never asked for a permit. */
export async function readBudget({ client, config }: Session, { id, budget }: OrganizationConfig): Promise<WindowView> {
  try {
    return await askWorker(client, config.temporal.taskQueue, () => budgetView(client, id));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return untouchedView(budget);
    throw error;
  }
}

async function showBudget(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  if (name === undefined && config.organizations.length > 1) return showAllBudgets(context, config);
  const organization = findOrganization(config, name);
  const view = await withTemporal(config, (session) => readBudget(session, organization));
  context.output.result(
    budgetDocument(organization, view),
    budgetText(organization, view, Date.now(), context.output.surface),
  );
  return exitCodes.done;
}

async function showAllBudgets({ output }: CommandContext, config: Config): Promise<ExitCode> {
  const organizations = [...config.organizations].sort((a, b) => naturalOrder(a.id, b.id));
  const budgets = await withTemporal(config, (session) =>
    inBatches(organizations, callsAtOnce, async (organization) => ({
      organization,
      view: await readBudget(session, organization),
    })),
  );
  const document = { organizations: budgets.map(({ organization, view }) => budgetDocument(organization, view)) };
  output.result(document, budgetTable(budgets, Date.now(), output.surface));
  return exitCodes.done;
}

const lookEveryMs = 1_000;

async function watchBudget(
  context: CommandContext,
  name: string | undefined,
  { for: forMs = Number.POSITIVE_INFINITY }: { for?: number },
): Promise<ExitCode> {
  const { output } = context;
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { id } = organization;
  const interrupt = onInterrupt();
  const live = await output.startLive();
  try {
    const last = await withTemporal(config, async (session) => {
      const endsAt = Date.now() + forMs;
      for (;;) {
        const view = await readBudget(session, organization);
        live.show(`budget of ${id}`, stepOf(view, output));
        if (Date.now() + lookEveryMs > endsAt) return view;
        await sleep(lookEveryMs, undefined, { signal: interrupt.signal }).catch(() => {});
        if (interrupt.signal.aborted) return view;
      }
    });
    live.end();
    output.result(budgetDocument(organization, last), budgetText(organization, last, Date.now(), output.surface));
    return exitCodes.done;
  } finally {
    live.end();
    interrupt.dispose();
  }
}

/** On a terminal the whole window, redrawn; elsewhere a line for each change. */
function stepOf(view: WindowView, output: Output): Step {
  const { used, limit, available, holders, waiters, throttledInWindow, pausedBy } = view;
  const counts = [
    `${used} of ${limit} used`,
    `${available} free`,
    `${holders.length} in use`,
    `${waiters.length} waiting`,
    ...(throttledInWindow > 0 ? [`${throttledInWindow} refused`] : []),
    ...(pausedBy === null ? [] : [pauseWords[pausedBy]]),
  ];
  const line = counts.join(', ');
  const now = Date.now();
  const surface = output.surfaceOfNotes;
  // The line above has the time, the one below the cursor.
  const fitting = { ...surface, rows: surface.rows - 2 };
  const lines = fittingLines(budgetLines(view, now, surface), fitting, (count) => leftOutText(view, count));
  return { key: line, line, text: `${output.paintNotes.dim(`at ${clockTime(now)}`)}\n${lines}` };
}

/** The last lines of a budget are its waiters; before them come the requests in use. */
function leftOutText({ waiters }: WindowView, lines: number): string {
  if (lines <= waiters.length) return `${lines} more waiting`;
  return `${lines - waiters.length} more lines, ${waiters.length} waiting`;
}
