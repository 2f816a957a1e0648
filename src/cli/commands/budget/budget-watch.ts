import { setTimeout as sleep } from 'node:timers/promises';
import type { WindowView } from '../../../budget/rules/permits.ts';
import { clockTime } from '../../../rules/text.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { findOrganization } from '../../selection.ts';
import { withTemporal } from '../../session.ts';
import type { Step } from '../../terminal/live-lines.ts';
import type { Output } from '../../terminal/output.ts';
import { fittingLines } from '../../terminal/output.ts';
import { onInterrupt } from '../../terminal/prompts.ts';
import { readBudget } from './budget-show.ts';
import { budgetDocument, budgetLines, budgetText, pauseWords } from './budget-view.ts';

const lookEveryMs = 1_000;

export default async function watchBudget(
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

/** The last lines of a budget are its waiters, those before them what is in use. */
function leftOutText({ waiters }: WindowView, lines: number): string {
  if (lines <= waiters.length) return `${lines} more waiting`;
  return `${lines - waiters.length} more lines, ${waiters.length} waiting`;
}
