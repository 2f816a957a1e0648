import { longestReason } from '../../../exports/rules/site-export.ts';
import { targetName } from '../../../rules/workflow-ids.ts';
import { type ActorFlags, addActorFlag } from '../../actor.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import type { ExitCode } from '../../failure.ts';
import { addScheduleNames, withSchedules, wordsOr } from './with-schedules.ts';

export default {
  pause: (command, run) =>
    addActorFlag(addScheduleNames(command))
      .option('--note <text>', 'why; shown by `schedules list` and `docferry audit`', '')
      .action(run(pauseOrResumeSchedules, 'pause')),
  resume: (command, run) =>
    addActorFlag(addScheduleNames(command))
      .option('--note <text>', 'kept with the schedule and in the audit', '')
      .action(run(pauseOrResumeSchedules, 'resume')),
} satisfies CommandFile;

async function pauseOrResumeSchedules(
  context: CommandContext,
  kind: 'pause' | 'resume',
  words: string[],
  { note, all, ...actor }: { note: string; all?: boolean } & ActorFlags,
): Promise<ExitCode> {
  const reason = note.trim().slice(0, longestReason) || null;
  return withSchedules(context, wordsOr(words, all), { ...actor, reason }, async (operator, { target }) => {
    await (kind === 'pause' ? operator.pauseSchedule(target, note) : operator.resumeSchedule(target, note));
    return { document: { paused: kind === 'pause' }, line: `${kind}d ${targetName(target)}` };
  });
}
