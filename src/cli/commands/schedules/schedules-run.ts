import { isoInstant } from '../../../rules/text.ts';
import { type ScheduleTarget, targetName } from '../../../rules/workflow-ids.ts';
import { scheduledTimes } from '../../../schedules/schedules.ts';
import { type ActorFlags, addActorFlag } from '../../actor.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, usageFailure } from '../../failure.ts';
import { dateRange } from '../../flags.ts';
import { isoTime } from '../../terminal/text.ts';
import { addScheduleNames, withSchedules, wordsOr } from './with-schedules.ts';

export default {
  trigger: (command, run) => addActorFlag(addScheduleNames(command)).action(run(triggerSchedules)),
  backfill: (command, run) =>
    addActorFlag(addScheduleNames(command))
      .requiredOption('--from <date>', 'ISO 8601 date or date-time, included')
      .requiredOption('--to <date>', 'ISO 8601 date or date-time, included; not in the future')
      .action(run(backfillSchedules)),
} satisfies CommandFile;

async function triggerSchedules(
  context: CommandContext,
  words: string[],
  { all, ...actor }: { all?: boolean } & ActorFlags,
): Promise<ExitCode> {
  return withSchedules(context, wordsOr(words, all), actor, async (operator, { target }) => {
    const { alreadyRunning } = await operator.triggerSchedule(target);
    const what = alreadyRunning ? 'a scheduled run was already running' : 'triggered';
    const line = `${targetName(target)}: ${what}; follow it with \`${follow(target)}\``;
    return { document: { alreadyRunning }, line };
  });
}

function follow(target: ScheduleTarget): string {
  if (target.kind === 'refresh') return `docferry status --org ${target.org}`;
  return target.kind === 'export'
    ? `docferry export status ${target.domain}`
    : `docferry feedback status ${target.org}/${target.project}`;
}

interface BackfillFlags extends ActorFlags {
  from: string;
  to: string;
  all?: boolean;
}

const madeUp = 'the next run makes up for those that are missing';

/** The server buffers at most 1,000 starts of a schedule. */
const mostRuns = 1_000;

async function backfillSchedules(context: CommandContext, words: string[], flags: BackfillFlags): Promise<ExitCode> {
  const { from, to } = boundsOf(flags);
  return withSchedules(context, wordsOr(words, flags.all), flags, async (operator, { id, target }) => {
    if (target.kind === 'refresh') return { document: { runs: [] }, line: `${targetName(target)}: ${madeUp}` };
    const times = await scheduledTimes(await operator.installation.temporal(), id, from, to);
    if (times.length > mostRuns) {
      throw usageFailure(`${targetName(target)} was scheduled ${times.length} times then`, 'choose a shorter period');
    }
    if (times.length > 0) await operator.backfillSchedule(target, { from, to, runs: times.length });
    const line = times.length === 0 ? 'nothing was scheduled then' : `${times.length} runs, one after the other`;
    return { document: { runs: times.map((time) => isoTime(time)) }, line: `${targetName(target)}: ${line}` };
  });
}

function boundsOf({ from, to }: BackfillFlags): { from: number; to: number } {
  dateRange({ from, to });
  const bounds = { from: isoInstant(from) ?? 0, to: isoInstant(to) ?? 0 };
  if (bounds.to > Date.now()) throw usageFailure(`--to is ${JSON.stringify(to)}: it must not be in the future`);
  return bounds;
}
