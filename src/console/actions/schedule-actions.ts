import { type ScheduleTarget, scheduleId, targetName } from '../../rules/workflow-ids.ts';
import { doneBy } from '../../runs/rules/own-audit-entries.ts';
import { pauseSchedule, resumeSchedule, triggerSchedule } from '../../schedules/schedules.ts';
import { ConsoleFailure } from '../console-failure.ts';
import type { ConsoleReader } from '../readings/console-reader.ts';
import type { Sessions } from '../security/sessions.ts';
import { type Action, audited } from './action.ts';

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
      const entry = doneBy(order.request, 'schedule-trigger', target);
      return audited(
        reader,
        order,
        [entry],
        `The scheduled run of ${targetName(target)} has started: its page shows how it goes.`,
      );
    },
  },
};

/** What can be done with the sessions of a login. */
export function sessionActions(sessions: Sessions): Readonly<Record<string, Action<string>>> {
  return {
    end: {
      label: 'End sessions',
      question: (login) => `Everybody who is signed in as ${login} has to sign in again; what was begun is done.`,
      async run(reader, login, order) {
        const count = sessions.revoke(login);
        if (count === 0) throw new ConsoleFailure('NotSignedIn', `nobody is signed in as ${login} any more`);
        const entry = {
          entryId: `${order.request}/end-sessions`,
          action: 'end-sessions' as const,
          org: null,
          subject: login,
          workflowId: null,
          detail: { sessions: count },
        };
        return audited(
          reader,
          order,
          [entry],
          `${count === 1 ? 'The session' : `${count} sessions`} of ${login} ended.`,
        );
      },
    },
  };
}
