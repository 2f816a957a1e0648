import type { Command } from 'commander';
import { type ScheduleTarget, targetName } from '../../../model/schedule/schedule-target.ts';
import type { CommandContext, RunCommand } from '../../context.ts';
import type { ExitCode } from '../../failures/exit-codes.ts';
import { scheduleNames, scheduleNamesHelp } from './find-schedules.ts';
import { withSchedules } from './with-schedules.ts';

export function addSchedulesTrigger(parent: Command, run: RunCommand): void {
  parent
    .command('trigger')
    .description('Start the scheduled run now, paused or not; nothing happens while one runs')
    .argument(scheduleNames, scheduleNamesHelp)
    .action((words: string[]) => run((context) => trigger(context, words)));
}

async function trigger(context: CommandContext, words: string[]): Promise<ExitCode> {
  const { triggerSchedule } = await import('../../../client/schedule-commands.ts');
  return withSchedules(context, words, async (client, { id, target }) => {
    const { alreadyRunning } = await triggerSchedule(client, id);
    const what = alreadyRunning ? 'a scheduled run was running already' : 'triggered';
    return {
      document: { alreadyRunning },
      line: `${targetName(target)}: ${what}; follow it with \`${follow(target)}\``,
    };
  });
}

function follow(target: ScheduleTarget): string {
  return target.kind === 'export'
    ? `docferry export status ${target.domain}`
    : `docferry feedback status ${target.org}/${target.project}`;
}
