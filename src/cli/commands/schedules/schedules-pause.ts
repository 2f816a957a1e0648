import type { Command } from 'commander';
import { targetName } from '../../../model/schedule/schedule-target.ts';
import type { CommandContext, RunCommand } from '../../context.ts';
import type { ExitCode } from '../../failures/exit-codes.ts';
import { scheduleNames, scheduleNamesHelp } from './find-schedules.ts';
import { withSchedules } from './with-schedules.ts';

export function addSchedulesPause(parent: Command, run: RunCommand): void {
  parent
    .command('pause')
    .description('Start nothing by schedule any more, until resumed; what runs goes on')
    .argument(scheduleNames, scheduleNamesHelp)
    .option('--note <text>', 'why, for those who wonder', '')
    .action((words: string[], { note }: { note: string }) => run((context) => pause(context, words, note)));
}

async function pause(context: CommandContext, words: string[], note: string): Promise<ExitCode> {
  const { pauseSchedule } = await import('../../../client/schedule-commands.ts');
  return withSchedules(context, words, async (client, { id, target }) => {
    await pauseSchedule(client, id, note);
    return { document: { paused: true }, line: `paused ${targetName(target)}` };
  });
}
