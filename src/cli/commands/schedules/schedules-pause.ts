import { longestReason } from '../../../exports/rules/site-export.ts';
import { targetName } from '../../../rules/workflow-ids.ts';
import { pauseSchedule, resumeSchedule } from '../../../schedules/schedules.ts';
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

const kinds = {
  pause: { work: pauseSchedule, paused: true, done: 'paused' },
  resume: { work: resumeSchedule, paused: false, done: 'resumed' },
};

async function pauseOrResumeSchedules(
  context: CommandContext,
  kind: keyof typeof kinds,
  words: string[],
  { note, all, ...actor }: { note: string; all?: boolean } & ActorFlags,
): Promise<ExitCode> {
  const { work, paused, done } = kinds[kind];
  const entry = { ...actor, action: `schedule-${kind}` as const, reason: note.trim().slice(0, longestReason) || null };
  return withSchedules(context, wordsOr(words, all), entry, async (client, { id, target }) => {
    await work(client, id, note);
    return { document: { paused }, detail: {}, line: `${done} ${targetName(target)}` };
  });
}
