import type { NamedSchedule } from '../../../schedules/owned-schedules.ts';
import { type ScheduleTarget, targetName, workflowIdOf } from '../../../rules/schedule-target.ts';
import { readingKinds } from '../../../feedback/rules/pass-kind.ts';
import { noSuchThing, usageFailure } from '../../cli-failure.ts';

/** A name of the command line, and the schedules it may mean. */
export interface WantedSchedule {
  name: string;
  /** False for `all`. */
  single: boolean;
  matches: NamedSchedule[];
}

/** What the words of a command line name: each word a schedule, but a project and its pass are two words. */
export function wantedSchedules(known: readonly NamedSchedule[], words: readonly string[]): WantedSchedule[] {
  if (words.join(' ') === 'all') return [{ name: 'all', single: false, matches: [...known] }];
  return namesIn(words).map((name) => {
    const exact = known.filter((schedule) => namesOf(schedule).includes(name));
    const matches = exact.length > 0 ? exact : known.filter(({ target }) => projectNames(target).includes(name));
    return { name, single: true, matches };
  });
}

/**
 * The schedule that is meant. A project's name alone is enough while it has one schedule. Throws `CliFailure`: nothing of
 * that name (exit code 4), or several (2).
 */
export function theOnlyMatch({ name, matches }: WantedSchedule): NamedSchedule {
  const [first, ...others] = matches;
  if (!first) {
    const hint = 'see `docferry schedules list`; `docferry schedules apply` creates the configured ones';
    throw noSuchThing('UnknownSchedule', `there is no schedule ${name}`, hint);
  }
  if (others.length > 0) {
    const names = matches.map(({ target }) => fullName(target)).join(', ');
    throw usageFailure(`${name} has several schedules`, `say which one: ${names}`);
  }
  return first;
}

function namesIn(words: readonly string[]): string[] {
  const names: string[] = [];
  for (const word of words) {
    const before = names.at(-1);
    const isPass = readingKinds.some((kind) => kind === word);
    if (isPass && before !== undefined && !before.includes(' ')) names.splice(-1, 1, `${before} ${word}`);
    else names.push(word);
  }
  return names;
}

function namesOf({ id, target }: NamedSchedule): string[] {
  return [id, workflowIdOf(target), targetName(target), fullName(target)];
}

function projectNames(target: ScheduleTarget): string[] {
  return target.kind === 'sync' ? [target.project, `${target.org}/${target.project}`] : [];
}

function fullName(target: ScheduleTarget): string {
  return `${target.org}/${targetName(target)}`;
}
