import type { Command } from 'commander';
import type { CallHandler } from '../../call-handler.ts';
import { wholeNumber } from '../../input/flag-values.ts';
import { addSenderFlag } from '../../input/sender.ts';

export function addScheduleCommands(program: Command, call: CallHandler): void {
  const schedules = program.command('schedules').description('Apply and control the schedules of exports and syncs');
  const scheduleCommand = (name: string, description: string) =>
    schedules
      .command(name)
      .description(description)
      .argument(
        '[schedule...]',
        'schedules, each by name: docs.acme.example, prj_1 incremental, acme/prj_1 sweep, or a full id; all for all of them',
      )
      .option('--all', 'all schedules');

  schedules
    .command('plan')
    .description('Show what `schedules apply` would change, and what was changed by hand; changes nothing')
    .action(call(() => import('./schedules-apply.ts'), 'planned'));
  schedules
    .command('apply')
    .description('Give Temporal exactly the configured schedules, as `up` does on its own; paused ones stay paused')
    .action(call(() => import('./schedules-apply.ts'), 'done'));
  schedules
    .command('list')
    .description('List the schedules: when, next run, last outcome, what is paused, what was changed by hand')
    .option('--page <n>', 'only this page of a hundred; default: all of them', wholeNumber('--page'))
    .action(call(() => import('./schedules-list.ts')));
  addSenderFlag(scheduleCommand('pause', 'Start nothing more by schedule until resumed; running work goes on'))
    .option('--note <text>', 'why, for people who wonder and for `docferry audit`', '')
    .action(call(() => import('./schedules-pause.ts'), 'pause'));
  addSenderFlag(scheduleCommand('resume', 'Let paused schedules go on; runs missed meanwhile are not made up for'))
    .option('--note <text>', 'kept with the schedule and in the audit', '')
    .action(call(() => import('./schedules-pause.ts'), 'resume'));
  addSenderFlag(
    scheduleCommand('trigger', 'Start the scheduled run now, paused or not; nothing happens while one is running'),
  ).action(call(() => import('./schedules-trigger.ts')));
  addSenderFlag(
    scheduleCommand(
      'backfill',
      'Run what was scheduled between two moments, one by one; each run reads the present state',
    ),
  )
    .requiredOption('--from <date>', 'ISO 8601 date or date-time, included')
    .requiredOption('--to <date>', 'ISO 8601 date or date-time, included; not in the future')
    .action(call(() => import('./schedules-backfill.ts')));
}
