import { pauseSchedule, resumeSchedule, triggerSchedule } from '../../schedules/schedule-commands.ts';
import { doneBy } from '../../runs/rules/own-audit-entries.ts';
import { type ScheduleTarget, scheduleId, targetName } from '../../rules/schedule-target.ts';
import type { ConsoleReader } from '../readings/console-reader.ts';
import type { Action } from './action.ts';
import { audited } from './audited.ts';

const idOf = (reader: ConsoleReader, target: ScheduleTarget): string => scheduleId(reader.setting.taskQueue, target);

/** What can be done with a schedule. */
export const scheduleActions: Readonly<Record<string, Action<ScheduleTarget>>> = {
  pause: {
    label: 'Pause',
    question: null,
    async run(reader, target, order) {
      await pauseSchedule(
        await reader.connections.temporal(),
        idOf(reader, target),
        `paused in the console by ${order.login}`,
      );
      const done = `The schedule of ${targetName(target)} is paused; what runs goes on. The table shows it in a moment.`;
      return audited(reader, order, [doneBy(order.request, 'schedule-pause', target)], done);
    },
  },
  resume: {
    label: 'Resume',
    question: null,
    async run(reader, target, order) {
      await resumeSchedule(
        await reader.connections.temporal(),
        idOf(reader, target),
        `resumed in the console by ${order.login}`,
      );
      const done = `The schedule of ${targetName(target)} is resumed. The table shows it in a moment.`;
      return audited(reader, order, [doneBy(order.request, 'schedule-resume', target)], done);
    },
  },
  trigger: {
    label: 'Start now',
    question: null,
    async run(reader, target, order) {
      const { alreadyRunning } = await triggerSchedule(await reader.connections.temporal(), idOf(reader, target));
      if (alreadyRunning) return `A scheduled run of ${targetName(target)} is already running.`;
      const deed = doneBy(order.request, 'schedule-trigger', target);
      return audited(
        reader,
        order,
        [deed],
        `The scheduled run of ${targetName(target)} has started: its page shows how it goes.`,
      );
    },
  },
};
