import type { Command } from 'commander';
import type { BudgetConfig } from '../config/config.ts';
import { clockTime, spanText } from '../model/details-text.ts';
import type { WindowView } from '../model/permits.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from './context.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { findOrganization } from './find-configured.ts';
import type { Paint } from './output.ts';
import { factLines, indent, isoTime } from './text.ts';

export function addBudgetShow(parent: Command, run: RunCommand): void {
  parent
    .command('show')
    .description("An organization's window of analytics requests: used, free, who holds, who waits")
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .action((org: string | undefined) => run((context) => show(context, org)));
}

async function show(context: CommandContext, name: string | undefined): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { id: org, budget } = findOrganization(config, name);
  const { budgetView } = await import('../client/budget.ts');
  const { WorkflowNotFoundError } = await import('@temporalio/client');
  const { withTemporal } = await import('./session.ts');
  const { askWorker } = await import('./ask-worker.ts');
  const view = await withTemporal(config, async ({ client }) => {
    try {
      return await askWorker(client, config.temporal.taskQueue, () => budgetView(client, org));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return untouched(budget);
      throw error;
    }
  });
  context.output.result(documentOf(org, view), textOf(org, view, context.output.paint));
  return exitCodes.done;
}

/** The window of an organization of which nothing was ever asked. */
function untouched({ requests, reserve, windowMs }: BudgetConfig): WindowView {
  return {
    limit: requests,
    reserve,
    windowMs,
    used: 0,
    available: Math.max(1, requests - reserve),
    pausedUntil: null,
    nextFreeAt: null,
    holders: [],
    waiters: [],
    throttledInWindow: 0,
  };
}

function documentOf(org: string, view: WindowView): object {
  const { limit, reserve, windowMs, used, available, throttledInWindow } = view;
  return {
    org,
    limit,
    reserve,
    windowMs,
    used,
    available,
    pausedUntil: isoTime(view.pausedUntil),
    nextFreeAt: isoTime(view.nextFreeAt),
    // How much of the window others use is not measured yet.
    strangers: null,
    holders: view.holders.map((holder) => ({ ...holder, since: isoTime(holder.since) })),
    waiters: view.waiters.map((waiter) => ({
      ...waiter,
      since: isoTime(waiter.since),
      expectedAt: isoTime(waiter.expectedAt),
    })),
    throttledInWindow,
  };
}

function textOf(org: string, view: WindowView, paint: Paint): string {
  const { limit, reserve, windowMs, used, available, pausedUntil, nextFreeAt, throttledInWindow } = view;
  const facts: [string, string][] = [
    ['window', `${limit} requests in ${spanText(windowMs)}${reserve > 0 ? `, ${reserve} left to others` : ''}`],
    ['used', `${used}`],
    ['free now', `${available}`],
  ];
  if (nextFreeAt !== null) facts.push(['next free', clockTime(nextFreeAt)]);
  if (pausedUntil !== null) facts.push(['paused', `by the service until ${clockTime(pausedUntil)}`]);
  if (throttledInWindow > 0) facts.push(['refused (429)', `${throttledInWindow} in this window`]);
  for (const { workflowId, permits, since } of view.holders) {
    facts.push(['in use', `${permits} by ${workflowId} since ${clockTime(since)}`]);
  }
  for (const { workflowId, class: kind, expectedAt } of view.waiters) {
    facts.push(['waiting', `${workflowId} (${kind}), expected ${clockTime(expectedAt)}`]);
  }
  return `${paint.bold(`budget of ${org}`)}\n${indent(factLines(facts))}`;
}
