import type { Command } from 'commander';
import { isoInstant } from '../../../model/iso-instant.ts';
import { targetName } from '../../../model/schedule/schedule-target.ts';
import { boundsProblem } from '../../../model/sync/pass-plan.ts';
import type { CommandContext, RunCommand } from '../../context.ts';
import { usageFailure } from '../../failures/cli-failure.ts';
import type { ExitCode } from '../../failures/exit-codes.ts';
import { isoTime } from '../../terminal/text.ts';
import { scheduleNames, scheduleNamesHelp } from './find-schedules.ts';
import { withSchedules } from './with-schedules.ts';

interface BackfillFlags {
  from: string;
  to: string;
}

/** The server keeps no more than 1,000 starts waiting for a schedule. */
const mostRuns = 1_000;

export function addSchedulesBackfill(parent: Command, run: RunCommand): void {
  parent
    .command('backfill')
    .description('Run what was scheduled between two moments, one after the other; each run reads what is there now')
    .argument(scheduleNames, scheduleNamesHelp)
    .requiredOption('--from <date>', 'ISO 8601 date or date-time, included')
    .requiredOption('--to <date>', 'ISO 8601 date or date-time, included; not in the future')
    .action((words: string[], flags: BackfillFlags) => run((context) => backfill(context, words, flags)));
}

async function backfill(context: CommandContext, words: string[], flags: BackfillFlags): Promise<ExitCode> {
  const { from, to } = boundsOf(flags);
  const { backfillSchedule, scheduledTimes } = await import('../../../client/schedule-commands.ts');
  return withSchedules(context, words, async (client, { id, target }) => {
    const times = await scheduledTimes(client, id, from, to);
    if (times.length > mostRuns) {
      throw usageFailure(`${targetName(target)} was scheduled ${times.length} times then`, 'choose a shorter time');
    }
    if (times.length > 0) await backfillSchedule(client, id, from, to);
    const line = times.length === 0 ? 'nothing was scheduled then' : `${times.length} runs, one after the other`;
    return { document: { runs: times.map((time) => isoTime(time)) }, line: `${targetName(target)}: ${line}` };
  });
}

function boundsOf({ from, to }: BackfillFlags): { from: number; to: number } {
  const wrong = boundsProblem({ from, to });
  if (wrong) throw usageFailure(`--${wrong.field} held ${JSON.stringify(wrong.held)}: it ${wrong.problem}`);
  const bounds = { from: isoInstant(from) ?? 0, to: isoInstant(to) ?? 0 };
  if (bounds.to > Date.now()) throw usageFailure(`--to held ${JSON.stringify(to)}: it must not be in the future`);
  return bounds;
}
