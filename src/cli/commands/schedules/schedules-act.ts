import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { longestReason } from '../../../exports/rules/site-export.ts';
import { forEach, type Operator } from '../../../operations/operator.ts';
import { counted, isoInstant } from '../../../rules/text.ts';
import { type ScheduleTarget, targetName, workflowIdOf } from '../../../rules/workflow-ids.ts';
import { desiredSchedules } from '../../../schedules/rules/desired-schedules.ts';
import { describeSchedules, type NamedSchedule, namedSchedules, scheduledTimes } from '../../../schedules/schedules.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  noSuchThing,
  operationFailure,
  usageFailure,
} from '../../context.ts';
import { explainFailure } from '../../explain-failure.ts';
import {
  type ActorFlags,
  addActorFlag,
  addSelectionFlags,
  dateRange,
  findOrganization,
  matcherOf,
  type SelectionFlags,
  suggesting,
} from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { confirm, onInterrupt } from '../../terminal/prompts.ts';
import { indent } from '../../terminal/text.ts';

export default {
  pause: (command, run) =>
    addActorFlag(addScheduleNames(command))
      .option('--note <text>', 'why; shown by `schedules list` and `docferry audit`', '')
      .action(run(pauseOrResumeSchedules, 'pause')),
  resume: (command, run) =>
    addActorFlag(addScheduleNames(command))
      .option('--note <text>', 'kept with the schedule and in the audit', '')
      .action(run(pauseOrResumeSchedules, 'resume')),
  trigger: (command, run) => addActorFlag(addScheduleNames(command)).action(run(triggerSchedules)),
  backfill: (command, run) =>
    addActorFlag(addScheduleNames(command))
      .requiredOption('--from <date>', 'ISO 8601 date or date-time, included')
      .requiredOption('--to <date>', 'ISO 8601 date or date-time, included; not in the future')
      .action(run(backfillSchedules)),
} satisfies CommandFile;

function addScheduleNames(command: Command): Command {
  const named = command.argument(
    '[schedule...]',
    'names of schedules: docs.acme.example, acme/docs.acme.example, acme/refresh, a full id, or all',
  );
  return addSelectionFlags(named.option('--all', 'all schedules'), 'schedules').option(
    '--yes',
    'with all, --all, --org or --match, on a terminal: do not ask',
  );
}

/** Many schedules, instead of names. */
interface ManyFlags extends SelectionFlags, ActorFlags {
  all?: boolean;
  yes?: boolean;
}

/** A name of the command line, and the schedules it may mean. */
interface WantedSchedule {
  name: string;
  /** False for many. */
  single: boolean;
  matches: NamedSchedule[];
}

const meansAll = (words: readonly string[]): boolean => words.join(' ') === 'all';

/** What a command line names: each word a schedule, or many by the flags. */
function wantedSchedules(
  known: readonly NamedSchedule[],
  words: readonly string[],
  { org, match }: SelectionFlags,
): WantedSchedule[] {
  if (words.length > 0 && !meansAll(words)) {
    return words.map((name) => {
      return { name, single: true, matches: known.filter((schedule) => namesOf(schedule).includes(name)) };
    });
  }
  const matching = matcherOf(match);
  const matches = known.filter(
    ({ target }) => (org === undefined || target.org === org) && matching(target.org, ownNameOf(target)),
  );
  if (matches.length > 0 || match === undefined) return [{ name: 'all', single: false, matches }];
  throw noSuchThing('NothingMatches', `no schedule matches ${JSON.stringify(match)}`);
}

const ownNameOf = (target: ScheduleTarget): string =>
  target.kind === 'export' ? target.domain : target.kind === 'sync' ? target.project : target.kind;

/** The schedule that is meant. Throws `CliFailure`: nothing of that name (exit code 4), or several (2). */
function theOnlyMatch({ name, matches }: WantedSchedule, known: readonly NamedSchedule[]): NamedSchedule {
  const [first, ...others] = matches;
  if (!first) {
    const near = suggesting(name, 'known schedules', [...new Set(known.map(({ target }) => targetName(target)))]);
    const hint = `${near} (\`docferry schedules apply\` creates the configured ones)`;
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

/**
 * Does the work with each schedule that the words or the flags name, and prints `{schedules: [{id, …}]}`. Of several, one
 * that fails stops no other: it is named with its error, and the exit code is 1.
 */
async function withSchedules(
  context: CommandContext,
  verb: string,
  words: readonly string[],
  flags: ManyFlags,
  work: (operator: Operator, schedule: NamedSchedule) => Promise<{ document: object; line: string }>,
): Promise<ExitCode> {
  const { all, org, match } = flags;
  const many = all === true || org !== undefined || match !== undefined;
  if (many === words.length > 0) {
    throw usageFailure(`name schedules, or give --all, --org or --match${many ? ', not both' : ''}`);
  }
  return withOperator(context, flags, async ({ config, operator }) => {
    if (org !== undefined) findOrganization(config, org);
    const { taskQueue } = config.temporal;
    const client = await operator.installation.temporal();
    const configured = desiredSchedules(taskQueue, config.organizations).map(({ id }) => id);
    const known = await namedSchedules(client, taskQueue, configured);
    const chosen = await chosenSchedules(client, known, wantedSchedules(known, words, flags));
    // Scripts name many on purpose.
    if ((many || meansAll(words)) && chosen.length > 0 && process.stdin.isTTY === true) {
      const names = indent(chosen.map(({ target }) => targetName(target)).join('\n'));
      const question = `${verb} ${counted(chosen.length, 'schedule')}`;
      const text = `${question}:\n${names}\n${question}?`;
      await confirm({ text, declined: 'cancelled, nothing changed' }, flags.yes === true);
    }
    const { signal, dispose } = onInterrupt();
    const { ended: acted, notBegun } = await forEach(chosen, (schedule) => work(operator, schedule), signal).finally(
      dispose,
    );
    const interrupted = operationFailure('Interrupted', 'interrupted before it began: nothing changed');
    const ended = [...acted, ...notBegun.map((item) => ({ item, ok: false as const, error: interrupted }))];
    const [first] = ended;
    if (ended.length === 1 && first?.ok === false) throw first.error;
    const answers = ended.map((one) => {
      if (one.ok) return { id: one.item.id, ...one.answer };
      const { code, message, hint } = explainFailure(one.error);
      return { id: one.item.id, document: { error: { code, message, hint } }, line: `${one.item.id}: ${message}` };
    });
    const schedules = answers.map(({ id, document }) => ({ id, ...document }));
    const lines = answers.map(({ line }) => line).join('\n');
    context.output.result({ schedules }, lines === '' ? 'there are no schedules' : lines);
    return ended.every(({ ok }) => ok) ? exitCodes.done : exitCodes.failed;
  });
}

/** All names are understood before anything is done; only what they name is described. */
async function chosenSchedules(
  client: Client,
  known: readonly NamedSchedule[],
  wanted: readonly WantedSchedule[],
): Promise<NamedSchedule[]> {
  const named = [...new Map(wanted.flatMap(({ matches }) => matches.map((match) => [match.id, match]))).values()];
  // Configured ones need not exist. One that Temporal does not describe may: the work itself will tell.
  const { schedules, unread } = await describeSchedules(client, named);
  const existing = new Set([...schedules, ...unread].map(({ id }) => id));
  const chosen = wanted.flatMap((want) => {
    const matches = want.matches.filter(({ id }) => existing.has(id));
    return want.single ? [theOnlyMatch({ ...want, matches }, known)] : matches;
  });
  return [...new Set(chosen)];
}

async function pauseOrResumeSchedules(
  context: CommandContext,
  kind: 'pause' | 'resume',
  words: string[],
  { note, ...flags }: { note: string } & ManyFlags,
): Promise<ExitCode> {
  const reason = note.trim().slice(0, longestReason) || null;
  return withSchedules(context, kind, words, { ...flags, reason }, async (operator, { target }) => {
    await (kind === 'pause' ? operator.pauseSchedule(target, note) : operator.resumeSchedule(target, note));
    return { document: { paused: kind === 'pause' }, line: `${kind}d ${targetName(target)}` };
  });
}

async function triggerSchedules(context: CommandContext, words: string[], flags: ManyFlags): Promise<ExitCode> {
  return withSchedules(context, 'trigger', words, flags, async (operator, { target }) => {
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

interface BackfillFlags extends ManyFlags {
  from: string;
  to: string;
}

const madeUp = 'the next run makes up for those that are missing';

/** The server names at most 1,000 starts of a schedule, and buffers as many: if it names so many, there may be more. */
const tooManyRuns = 999;

async function backfillSchedules(context: CommandContext, words: string[], flags: BackfillFlags): Promise<ExitCode> {
  const { from, to } = boundsOf(flags);
  return withSchedules(context, 'backfill', words, flags, async (operator, { id, target }) => {
    if (target.kind === 'refresh') return { document: { runs: [] }, line: `${targetName(target)}: ${madeUp}` };
    const times = await scheduledTimes(await operator.installation.temporal(), id, from, to);
    if (times.length >= tooManyRuns) {
      const often = `${targetName(target)} was scheduled ${times.length} times or more then`;
      throw usageFailure(often, 'choose a shorter period');
    }
    if (times.length > 0) await operator.backfillSchedule(target, { from, to, runs: times.length });
    const line =
      times.length === 0 ? 'nothing was scheduled then' : `${counted(times.length, 'run')}, one after the other`;
    return {
      document: { runs: times.map((time) => new Date(time).toISOString()) },
      line: `${targetName(target)}: ${line}`,
    };
  });
}

function boundsOf({ from, to }: BackfillFlags): { from: number; to: number } {
  dateRange({ from, to });
  const bounds = { from: isoInstant(from) ?? 0, to: isoInstant(to) ?? 0 };
  if (bounds.to > Date.now()) throw usageFailure(`--to is ${JSON.stringify(to)}: it must not be in the future`);
  return bounds;
}
