import { type ScheduleTarget, targetName } from '../../../rules/workflow-ids.ts';
import { triggerSchedule } from '../../../schedules/schedules.ts';
import type { ActorFlags } from '../../actor.ts';
import type { CommandContext } from '../../context.ts';
import type { ExitCode } from '../../failure.ts';
import { withSchedules, wordsOr } from './with-schedules.ts';

export default async function triggerSchedules(
  context: CommandContext,
  words: string[],
  { all, ...actor }: { all?: boolean } & ActorFlags,
): Promise<ExitCode> {
  return withSchedules(
    context,
    wordsOr(words, all),
    { ...actor, action: 'schedule-trigger' },
    async (client, { id, target }) => {
      const { alreadyRunning } = await triggerSchedule(client, id);
      const what = alreadyRunning ? 'a scheduled run was already running' : 'triggered';
      return {
        document: { alreadyRunning },
        detail: alreadyRunning ? null : {},
        line: `${targetName(target)}: ${what}; follow it with \`${follow(target)}\``,
      };
    },
  );
}

function follow(target: ScheduleTarget): string {
  return target.kind === 'export'
    ? `docferry export status ${target.domain}`
    : `docferry feedback status ${target.org}/${target.project}`;
}
