import { isoInstant } from '../../../rules/text.ts';
import { targetName } from '../../../rules/workflow-ids.ts';
import { backfillSchedule, scheduledTimes } from '../../../schedules/schedules.ts';
import type { ActorFlags } from '../../actor.ts';
import type { CommandContext } from '../../context.ts';
import type { ExitCode } from '../../failure.ts';
import { usageFailure } from '../../failure.ts';
import { dateRange } from '../../flags.ts';
import { isoTime } from '../../terminal/text.ts';
import { withSchedules, wordsOr } from './with-schedules.ts';

interface BackfillFlags extends ActorFlags {
  from: string;
  to: string;
  all?: boolean;
}

/** The server buffers at most 1,000 starts of a schedule. */
const mostRuns = 1_000;

export default async function backfillSchedules(
  context: CommandContext,
  words: string[],
  flags: BackfillFlags,
): Promise<ExitCode> {
  const { from, to } = boundsOf(flags);
  return withSchedules(
    context,
    wordsOr(words, flags.all),
    { ...flags, action: 'schedule-backfill' },
    async (client, { id, target }) => {
      const times = await scheduledTimes(client, id, from, to);
      if (times.length > mostRuns) {
        throw usageFailure(`${targetName(target)} was scheduled ${times.length} times then`, 'choose a shorter period');
      }
      if (times.length > 0) await backfillSchedule(client, id, from, to);
      const line = times.length === 0 ? 'nothing was scheduled then' : `${times.length} runs, one after the other`;
      const detail = times.length === 0 ? null : { from: isoTime(from), to: isoTime(to), runs: times.length };
      return { document: { runs: times.map((time) => isoTime(time)) }, detail, line: `${targetName(target)}: ${line}` };
    },
  );
}

function boundsOf({ from, to }: BackfillFlags): { from: number; to: number } {
  dateRange({ from, to });
  const bounds = { from: isoInstant(from) ?? 0, to: isoInstant(to) ?? 0 };
  if (bounds.to > Date.now()) throw usageFailure(`--to is ${JSON.stringify(to)}: it must not be in the future`);
  return bounds;
}
