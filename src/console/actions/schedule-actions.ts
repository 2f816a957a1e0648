import { pauseSchedule, resumeSchedule, triggerSchedule } from '../../client/schedules/schedule-commands.ts';
import { type ScheduleTarget, scheduleId, targetName } from '../../model/schedule/schedule-target.ts';
import type { ConsoleReader } from '../readings/console-reader.ts';
import type { Action } from './action.ts';

const idOf = (reader: ConsoleReader, target: ScheduleTarget): string => scheduleId(reader.setting.taskQueue, target);

/** What can be done with a schedule. */
export const scheduleActions: Readonly<Record<string, Action<ScheduleTarget>>> = {
  pause: {
    label: 'Pause',
    question: null,
    async run(reader, target, { login }) {
      await pauseSchedule(
        await reader.connections.temporal(),
        idOf(reader, target),
        `paused in the console by ${login}`,
      );
      return `The schedule of ${targetName(target)} is paused; what runs goes on.`;
    },
  },
  resume: {
    label: 'Resume',
    question: null,
    async run(reader, target, { login }) {
      await resumeSchedule(
        await reader.connections.temporal(),
        idOf(reader, target),
        `resumed in the console by ${login}`,
      );
      return `The schedule of ${targetName(target)} is on again.`;
    },
  },
  trigger: {
    label: 'Start now',
    question: null,
    async run(reader, target) {
      const { alreadyRunning } = await triggerSchedule(await reader.connections.temporal(), idOf(reader, target));
      return alreadyRunning
        ? `A scheduled run of ${targetName(target)} is already running.`
        : `${targetName(target)} has started.`;
    },
  },
};
