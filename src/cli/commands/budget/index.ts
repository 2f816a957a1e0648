import type { Command } from 'commander';
import { addActorFlag, addActorFlags } from '../../actor.ts';
import type { CallHandler } from '../../context.ts';
import { duration, wholeNumber } from '../../flags.ts';

export function addBudgetCommands(program: Command, call: CallHandler): void {
  const budget = program.command('budget').description('Show and change the budgets of organizations');
  const budgetCommand = (name: string, description: string) =>
    budget
      .command(name)
      .description(description)
      .argument('[org]', 'id of a configured organization; optional when there is only one');

  budgetCommand('show', "Show an organization's window of analytics requests: used, free, holders, waiters").action(
    call(() => import('./budget-show.ts')),
  );
  budgetCommand('watch', "Watch an organization's window: slots, holders, waiters, refusals; Ctrl-C ends it")
    .option('--for <duration>', 'end after this time, e.g. 10m', duration('--for'))
    .action(call(() => import('./budget-watch.ts')));
  budgetCommand(
    'plan',
    "Say whether an organization's schedules fit its budget, and which intervals bring in new entries soonest",
  ).action(call(() => import('./budget-plan.ts')));
  addActorFlags(budget.command('set'))
    .description('Override the configured limit or reserve until --for ends or `budget reset`')
    .argument('<org>', 'id of a configured organization')
    .option('--requests <n>', 'requests per window', wholeNumber('--requests'))
    .option('--reserve <n>', 'requests of each window left to other programs', wholeNumber('--reserve'))
    .option('--for <duration>', 'only for this time, e.g. 2h', duration('--for'))
    .action(call(() => import('./budget-change.ts'), 'set'));
  addActorFlags(
    budgetCommand('reset', 'Return to the configuration after `set`; requests in the window stay counted'),
  ).action(call(() => import('./budget-change.ts'), 'reset'));
  addActorFlags(budgetCommand('pause', 'Stop all requests until you resume them; passes wait, and nothing is lost'))
    .option('--for <duration>', 'only for this time, e.g. 2h', duration('--for'))
    .action(call(() => import('./budget-change.ts'), 'pause'));
  addActorFlags(budgetCommand('resume', 'Grant requests again after `pause`')).action(
    call(() => import('./budget-change.ts'), 'resume'),
  );
  addActorFlag(
    budgetCommand(
      'move',
      "Move an organization's budget to the task queue of the configuration, with what it remembers",
    ),
  ).action(call(() => import('./budget-move.ts')));
}
