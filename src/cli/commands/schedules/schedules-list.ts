import { type ScheduleView, scheduleViews } from '../../../client/schedule-views.ts';
import { targetName } from '../../../model/schedule/schedule-target.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { withTemporal } from '../../temporal/session.ts';
import type { Output } from '../../terminal/output.ts';
import { tableLines, timeText } from '../../terminal/text.ts';

export default async function listSchedules(context: CommandContext): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { output } = context;
  const { schedules, missing } = await withTemporal(config, ({ client }) =>
    scheduleViews(client, config.temporal.taskQueue, config.organizations),
  );
  warnOfDifferences(output, schedules, missing);
  const documents = schedules.map(({ target, ...schedule }) => ({ name: targetName(target), target, ...schedule }));
  output.result({ schedules: documents, missing }, textOf(schedules));
  return exitCodes.done;
}

function warnOfDifferences(output: Output, schedules: readonly ScheduleView[], missing: readonly string[]): void {
  for (const { target, differs, drift } of schedules) {
    if (differs.length === 0) continue;
    const how = drift ? 'was changed by hand' : 'is not as configured';
    output.warn(`${targetName(target)} ${how} (${differs.join('; ')}): \`docferry schedules apply\` restores it`);
  }
  if (missing.length > 0) {
    output.warn(`configured but not applied: ${missing.join(', ')}; run \`docferry schedules apply\``);
  }
}

function textOf(schedules: readonly ScheduleView[]): string {
  if (schedules.length === 0) return 'there are no schedules';
  return tableLines(
    ['schedule', 'when', 'state', 'next (UTC)', 'last (UTC)', 'outcome', 'detail'],
    schedules.map((schedule) => {
      const [last] = schedule.last;
      return [
        targetName(schedule.target),
        schedule.when,
        stateOf(schedule),
        timeText(schedule.next[0] ?? null),
        timeText(last?.startedAt ?? null),
        last?.outcome ?? (last ? (last.status?.toLowerCase() ?? 'forgotten') : '-'),
        last?.detail ?? '',
      ];
    }),
  );
}

function stateOf({ paused, note, running, configured, drift }: ScheduleView): string {
  const states = [
    running.length > 0 ? 'running' : '',
    paused ? `paused${note === '' ? '' : `: ${note}`}` : '',
    configured ? '' : 'not configured',
    drift ? 'changed by hand' : '',
  ].filter((state) => state !== '');
  return states.length === 0 ? 'waiting' : states.join(', ');
}
