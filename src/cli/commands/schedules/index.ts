import type { Command } from 'commander';
import { addActorFlag } from '../../actor.ts';
import type { CallHandler } from '../../context.ts';
import { wholeNumber } from '../../flags.ts';

export function addScheduleCommands(program: Command, call: CallHandler): void {
  const schedules = program.command('schedules').description('Apply and control the schedules of exports and syncs');
  const scheduleCommand = (name: string, description: string) =>
    schedules
      .command(name)
      .description(description)
      .argument(
        '[schedule...]',
        'names of schedules: docs.acme.example, prj_1 incremental, acme/prj_1 sweep, a full id, or all',
      )
      .option('--all', 'all schedules');

  schedules
    .command('plan')
    .description('Show what `schedules apply` would change, and what was changed by hand; changes nothing')
    .action(call(() => import('./schedules-apply.ts'), 'planned'));
  schedules
    .command('apply')
    .description(
      "Make Temporal's schedules match the configuration, as `up` does when it starts; paused ones stay paused",
    )
    .action(call(() => import('./schedules-apply.ts'), 'done'));
  schedules
    .command('list')
    .description('List the schedules: when, next run, last outcome, what is paused, what was changed by hand')
    .option('--page <n>', 'only this page of 100 schedules; default: all', wholeNumber('--page'))
    .action(call(() => import('./schedules-list.ts')));
  addActorFlag(scheduleCommand('pause', 'Start nothing by schedule until you resume it; running work continues'))
    .option('--note <text>', 'why; shown by `schedules list` and `docferry audit`', '')
    .action(call(() => import('./schedules-pause.ts'), 'pause'));
  addActorFlag(scheduleCommand('resume', 'Resume paused schedules; missed runs are not made up for'))
    .option('--note <text>', 'kept with the schedule and in the audit', '')
    .action(call(() => import('./schedules-pause.ts'), 'resume'));
  addActorFlag(
    scheduleCommand('trigger', 'Start the scheduled run now, paused or not; does nothing while one is running'),
  ).action(call(() => import('./schedules-trigger.ts')));
  addActorFlag(
    scheduleCommand(
      'backfill',
      "Run what was scheduled between two moments, one by one; each run sees today's state, not that of its time",
    ),
  )
    .requiredOption('--from <date>', 'ISO 8601 date or date-time, included')
    .requiredOption('--to <date>', 'ISO 8601 date or date-time, included; not in the future')
    .action(call(() => import('./schedules-backfill.ts')));
}
