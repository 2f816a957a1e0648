import { withoutFailureType } from '../../../rules/errors.ts';
import { targetName } from '../../../rules/workflow-ids.ts';
import { type ScheduleView, type ScheduleViews, scheduleViews } from '../../../schedules/schedule-views.ts';
import { failoverFor } from '../../../temporal/connection.ts';
import { type CommandContext, type CommandFile, loadContextConfig, type Output, usageFailure } from '../../context.ts';
import { wholeNumber } from '../../flags.ts';
import { withTemporal } from '../../session.ts';
import { tableLines, timeText } from '../../terminal/text.ts';

export default {
  list: (command, run) =>
    command
      .option('--page <n>', 'only this page of 100 schedules; default: all', wholeNumber('--page'))
      .action(run(listSchedules)),
} satisfies CommandFile;

/** Each one listed costs some ten calls to Temporal. */
const schedulesPerPage = 100;

async function listSchedules(context: CommandContext, { page }: { page?: number }): Promise<void> {
  if (page === 0) throw usageFailure('--page counts from 1');
  const part = page === undefined ? undefined : { page, size: schedulesPerPage };
  const config = await loadContextConfig(context);
  const { output } = context;
  const views = await withTemporal(config, ({ client }) =>
    scheduleViews(client, config.temporal.taskQueue, config.organizations, failoverFor(config.temporal), part),
  );
  warnOfDifferences(output, views);
  const { schedules, missing, unread, total } = views;
  const document = {
    schedules: schedules.map(({ target, ...schedule }) => ({ name: targetName(target), target, ...schedule })),
    missing,
    unread: unread.map(({ id, target }) => ({ id, name: targetName(target), target })),
    total,
  };
  output.result(document, textOf(views, output.surface.columns));
  if (page !== undefined) {
    output.note(`page ${page} of ${Math.max(1, Math.ceil(total / schedulesPerPage))}: ${total} schedules in all`);
  }
}

function warnOfDifferences(output: Output, { schedules, missing, unread }: ScheduleViews): void {
  for (const { target, differs, drift } of schedules) {
    if (differs.length === 0) continue;
    const how = drift ? 'was changed by hand' : 'is not as configured';
    output.warn(`${targetName(target)} ${how} (${differs.join('; ')}): \`docferry schedules apply\` restores it`);
  }
  if (missing.length > 0) {
    output.warn(`configured but not applied: ${missing.join(', ')}; run \`docferry schedules apply\``);
  }
  if (unread.length > 0) {
    output.warn(`Temporal did not answer for ${unread.map(({ target }) => targetName(target)).join(', ')}`);
  }
}

function textOf({ schedules, unread }: ScheduleViews, columns: number): string {
  if (schedules.length + unread.length === 0) return 'there are no schedules';
  return tableLines(
    ['schedule', 'when', 'state', 'next (UTC)', 'last (UTC)', 'outcome', 'detail'],
    [...schedules.map(rowOf), ...unread.map(({ target }) => [targetName(target), '?', 'unknown', '?', '?', '?', ''])],
    columns,
    ['when', 'last (UTC)', 'outcome'],
  );
}

function rowOf(schedule: ScheduleView): string[] {
  const [last] = schedule.last;
  return [
    targetName(schedule.target),
    schedule.when,
    stateOf(schedule),
    timeText(schedule.next[0] ?? null),
    timeText(last?.startedAt ?? null),
    last?.outcome ?? (last ? (last.status?.toLowerCase() ?? 'unknown') : '-'),
    withoutFailureType(last?.detail ?? ''),
  ];
}

function stateOf({ paused, note, running, last, configured, drift }: ScheduleView): string {
  const isRunning = running.length > 0 || last[0]?.status === 'RUNNING';
  const states = [
    isRunning ? 'running' : '',
    paused ? `paused${note === '' ? '' : `: ${note}`}` : '',
    configured ? '' : 'not configured',
    drift ? 'changed by hand' : '',
  ].filter((state) => state !== '');
  return states.length === 0 ? 'waiting' : states.join(', ');
}
