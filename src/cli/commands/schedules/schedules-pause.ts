import { pauseSchedule, resumeSchedule } from '../../../schedules/schedule-commands.ts';
import { longestReason } from '../../../exports/rules/site-export.ts';
import { targetName } from '../../../rules/schedule-target.ts';
import type { CommandContext } from '../../context.ts';
import type { ExitCode } from '../../exit-codes.ts';
import type { SenderFlags } from '../../sender.ts';
import { withSchedules, wordsOr } from './with-schedules.ts';

const kinds = {
  pause: { work: pauseSchedule, paused: true, done: 'paused' },
  resume: { work: resumeSchedule, paused: false, done: 'resumed' },
};

export default async function pauseOrResumeSchedules(
  context: CommandContext,
  kind: keyof typeof kinds,
  words: string[],
  { note, all, ...sender }: { note: string; all?: boolean } & SenderFlags,
): Promise<ExitCode> {
  const { work, paused, done } = kinds[kind];
  const deed = { ...sender, action: `schedule-${kind}` as const, reason: note.trim().slice(0, longestReason) || null };
  return withSchedules(context, wordsOr(words, all), deed, async (client, { id, target }) => {
    await work(client, id, note);
    return { document: { paused }, detail: {}, line: `${done} ${targetName(target)}` };
  });
}
