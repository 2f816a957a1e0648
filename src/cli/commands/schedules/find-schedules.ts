import type { OwnedSchedule } from '../../../client/owned-schedules.ts';
import { type ScheduleTarget, targetName, workflowIdOf } from '../../../model/schedule/schedule-target.ts';
import { noSuchThing, usageFailure } from '../../failures/cli-failure.ts';

/**
 * The schedules that the words of a command line mean. A project's name alone is enough while it has one schedule.
 * Throws `CliFailure`: nothing of that name (exit code 4), or several (2).
 */
export function findSchedules(owned: readonly OwnedSchedule[], words: readonly string[]): OwnedSchedule[] {
  const wanted = words.join(' ');
  if (wanted === 'all') return [...owned];
  const exact = owned.filter((schedule) => namesOf(schedule).includes(wanted));
  const found = exact.length > 0 ? exact : owned.filter(({ target }) => projectNames(target).includes(wanted));
  const [first, ...others] = found;
  if (!first) {
    const hint = 'see `docferry schedules list`; `docferry schedules apply` creates the configured ones';
    throw noSuchThing('UnknownSchedule', `there is no schedule ${wanted}`, hint);
  }
  if (others.length > 0) {
    const names = found.map(({ target }) => fullName(target)).join(', ');
    throw usageFailure(`${wanted} has several schedules`, `say which one: ${names}`);
  }
  return [first];
}

function namesOf({ id, target }: OwnedSchedule): string[] {
  return [id, workflowIdOf(target), targetName(target), fullName(target)];
}

function projectNames(target: ScheduleTarget): string[] {
  return target.kind === 'sync' ? [target.project, `${target.org}/${target.project}`] : [];
}

function fullName(target: ScheduleTarget): string {
  return `${target.org}/${targetName(target)}`;
}
