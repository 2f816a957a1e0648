import { pauseSchedule, resumeSchedule } from '../../../client/schedules/schedule-commands.ts';
import { targetName } from '../../../model/schedule/schedule-target.ts';
import type { CommandContext } from '../../context.ts';
import type { ExitCode } from '../../failures/exit-codes.ts';
import { withSchedules, wordsOr } from './with-schedules.ts';

const kinds = {
  pause: { work: pauseSchedule, paused: true, done: 'paused' },
  resume: { work: resumeSchedule, paused: false, done: 'resumed' },
};

export default async function pauseOrResumeSchedules(
  context: CommandContext,
  kind: keyof typeof kinds,
  words: string[],
  { note, all }: { note: string; all?: boolean },
): Promise<ExitCode> {
  const { work, paused, done } = kinds[kind];
  return withSchedules(context, wordsOr(words, all), async (client, { id, target }) => {
    await work(client, id, note);
    return { document: { paused }, line: `${done} ${targetName(target)}` };
  });
}
