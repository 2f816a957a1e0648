import type { Command } from 'commander';
import { targetName } from '../../../model/schedule/schedule-target.ts';
import type { CommandContext, RunCommand } from '../../context.ts';
import type { ExitCode } from '../../failures/exit-codes.ts';
import { scheduleNames, scheduleNamesHelp } from './find-schedules.ts';
import { withSchedules } from './with-schedules.ts';

export function addSchedulesResume(parent: Command, run: RunCommand): void {
  parent
    .command('resume')
    .description('Let paused schedules go on; what they missed meanwhile is not made up for')
    .argument(scheduleNames, scheduleNamesHelp)
    .option('--note <text>', 'kept with the schedule', '')
    .action((words: string[], { note }: { note: string }) => run((context) => resume(context, words, note)));
}

async function resume(context: CommandContext, words: string[], note: string): Promise<ExitCode> {
  const { resumeSchedule } = await import('../../../client/schedule-commands.ts');
  return withSchedules(context, words, async (client, { id, target }) => {
    await resumeSchedule(client, id, note);
    return { document: { paused: false }, line: `resumed ${targetName(target)}` };
  });
}
