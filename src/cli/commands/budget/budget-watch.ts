import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { WindowView } from '../../../model/budget/permits.ts';
import { clockTime } from '../../../model/details-text.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { durationFlag } from '../../input/duration-flag.ts';
import { findOrganization } from '../../input/find-configured.ts';
import type { Step } from '../../terminal/live-lines.ts';
import type { Output } from '../../terminal/output.ts';
import { onInterrupt } from '../../terminal/signals.ts';
import { budgetDocument, budgetLines, budgetText } from './budget-view.ts';

export function addBudgetWatch(parent: Command, run: RunCommand): void {
  parent
    .command('watch')
    .description("Watch an organization's window: slots, holders, waiters, refusals; Ctrl-C ends it")
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .option('--for <duration>', 'end by itself after this time, e.g. 10m')
    .action((org: string | undefined, flags: { for?: string }) => run((context) => watch(context, org, flags)));
}

const lookEveryMs = 1_000;

async function watch(context: CommandContext, name: string | undefined, flags: { for?: string }): Promise<ExitCode> {
  const forMs = durationFlag('--for', flags.for) ?? Number.POSITIVE_INFINITY;
  const { output } = context;
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { id } = organization;
  const { withTemporal } = await import('../../temporal/session.ts');
  const { readBudget } = await import('./read-budget.ts');
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
    output.result(budgetDocument(id, last), budgetText(id, last, Date.now(), output.surface));
    return exitCodes.done;
  } finally {
    live.end();
    interrupt.dispose();
  }
}

const pauseWords = {
  paused: 'paused by hand',
  throttled: 'paused by the service (429)',
  unauthorized: 'paused by a refused key (401)',
} as const;

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
  const text = `${output.paintNotes.dim(`at ${clockTime(now)}`)}\n${budgetLines(view, now, output.surfaceOfNotes)}`;
  return { key: line, line, text };
}
