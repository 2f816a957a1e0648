import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import type { Operator } from '../../../operations/operator.ts';
import { targetName, workflowIdOf } from '../../../rules/workflow-ids.ts';
import { desiredSchedules } from '../../../schedules/rules/desired-schedules.ts';
import { describeSchedules, type NamedSchedule, namedSchedules } from '../../../schedules/schedules.ts';
import { callsAtOnce, inBatches } from '../../../temporal/runs.ts';
import type { ActorFlags } from '../../actor.ts';
import type { CommandContext } from '../../context.ts';
import { type ExitCode, exitCodes, noSuchThing, usageFailure } from '../../failure.ts';
import { withOperator } from '../../operator.ts';

export function addScheduleNames(command: Command): Command {
  return command
    .argument(
      '[schedule...]',
      'names of schedules: docs.acme.example, acme/docs.acme.example, acme/refresh, a full id, or all',
    )
    .option('--all', 'all schedules');
}

/** A name of the command line, and the schedules it may mean. */
interface WantedSchedule {
  name: string;
  /** False for `all`. */
  single: boolean;
  matches: NamedSchedule[];
}

/** What the words of a command line name: each word a schedule. */
function wantedSchedules(known: readonly NamedSchedule[], words: readonly string[]): WantedSchedule[] {
  if (words.join(' ') === 'all') return [{ name: 'all', single: false, matches: [...known] }];
  return words.map((name) => {
    return { name, single: true, matches: known.filter((schedule) => namesOf(schedule).includes(name)) };
  });
}

/** The schedule that is meant. Throws `CliFailure`: nothing of that name (exit code 4), or several (2). */
function theOnlyMatch({ name, matches }: WantedSchedule): NamedSchedule {
  const [first, ...others] = matches;
  if (!first) {
    const hint = 'see `docferry schedules list`; `docferry schedules apply` creates the configured ones';
    throw noSuchThing('UnknownSchedule', `there is no schedule ${name}`, hint);
  }
  if (others.length > 0) {
    const names = matches.map(({ id }) => id).join(', ');
    throw usageFailure(`${name} has several schedules`, `say which one: ${names}`);
  }
  return first;
}

/** `refresh` alone is enough where only one organization has one. */
function namesOf({ id, target }: NamedSchedule): string[] {
  const name = targetName(target);
  return [id, workflowIdOf(target), name, target.kind === 'refresh' ? target.kind : `${target.org}/${name}`];
}

/** What was done with one schedule: its part of the JSON document and a line for people. */
interface ScheduleAnswer {
  document: object;
  line: string;
}

/** The words of a command line, `all` for `--all`. Throws a usage failure unless exactly one of them is given. */
export function wordsOr(words: readonly string[], all = false): readonly string[] {
  if (all !== words.length > 0) return all ? ['all'] : words;
  throw usageFailure(all ? 'name schedules or give --all, not both' : 'name schedules, or give --all');
}

/** Does the work with each schedule that the words name, and prints `{schedules: [{id, …}]}`. */
export async function withSchedules(
  context: CommandContext,
  words: readonly string[],
  flags: ActorFlags,
  work: (operator: Operator, schedule: NamedSchedule) => Promise<ScheduleAnswer>,
): Promise<ExitCode> {
  return withOperator(context, flags, async ({ config, operator }) => {
    const { taskQueue } = config.temporal;
    const client = await operator.installation.temporal();
    const configured = desiredSchedules(taskQueue, config.organizations).map(({ id }) => id);
    const known = await namedSchedules(client, taskQueue, configured);
    const chosen = await chosenSchedules(client, known, words);
    const answers = await inBatches(chosen, callsAtOnce, (schedule) => work(operator, schedule));
    const schedules = answers.map(({ document }, index) => ({ id: chosen[index]?.id, ...document }));
    const lines = answers.map(({ line }) => line).join('\n');
    context.output.result({ schedules }, lines === '' ? 'there are no schedules' : lines);
    return exitCodes.done;
  });
}

/** All names are understood before anything is done; only what they name is described. */
async function chosenSchedules(
  client: Client,
  known: readonly NamedSchedule[],
  words: readonly string[],
): Promise<NamedSchedule[]> {
  const wanted = wantedSchedules(known, words);
  const named = [...new Map(wanted.flatMap(({ matches }) => matches.map((match) => [match.id, match]))).values()];
  // Configured ones need not exist. One that Temporal does not describe may: the work itself will tell.
  const { schedules, unread } = await describeSchedules(client, named);
  const existing = new Set([...schedules, ...unread].map(({ id }) => id));
  const chosen = wanted.flatMap((want) => {
    const matches = want.matches.filter(({ id }) => existing.has(id));
    return want.single ? [theOnlyMatch({ ...want, matches })] : matches;
  });
  return [...new Set(chosen)];
}
