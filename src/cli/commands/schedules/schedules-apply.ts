import { targetName } from '../../../rules/workflow-ids.ts';
import { type DesiredSchedule, isEmptyPlan, type SchedulePlan } from '../../../schedules/rules/desired-schedules.ts';
import { whenText } from '../../../schedules/rules/schedule-settings.ts';
import { applySchedules, readSchedulePlan } from '../../../schedules/schedules.ts';
import { failoverFor } from '../../../temporal/connection.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  type Paint,
} from '../../context.ts';
import { withTemporal } from '../../session.ts';
import { indent } from '../../terminal/text.ts';

export default {
  plan: (command, run) => command.action(run(planOrApplySchedules, 'planned')),
  apply: (command, run) => command.action(run(planOrApplySchedules, 'done')),
} satisfies CommandFile;

/** A plan, before or after it was applied, as a JSON document. */
function planDocument(plan: SchedulePlan): object {
  const named = ({ id, settings }: DesiredSchedule) => ({ id, when: whenText(settings) });
  return {
    create: plan.create.map(named),
    update: plan.update.map(({ desired: { id }, drift, changes }) => ({ id, drift, changes })),
    delete: plan.delete.map(({ id }) => ({ id })),
    stop: plan.stop,
    unchanged: plan.unchanged.map(({ id }) => id),
    unread: plan.unread,
  };
}

const words = {
  planned: { create: 'create', update: 'update', delete: 'delete', stop: 'cancel', nothing: 'nothing to do' },
  done: { create: 'created', update: 'updated', delete: 'deleted', stop: 'cancelling', nothing: 'nothing changed' },
};

/** A plan, before or after it was applied, for people: a line for each schedule, its changes below. */
function planText(plan: SchedulePlan, kind: keyof typeof words, paint: Paint): string {
  const word = words[kind];
  const count = plan.unchanged.length;
  const kept = `${count} ${count === 1 ? 'schedule is' : 'schedules are'} as configured`;
  if (isEmptyPlan(plan)) return `${word.nothing}: ${kept}`;
  const lines = [
    ...plan.create.map(
      ({ target, settings }) => `${paint.green(word.create)}  ${targetName(target)}: ${whenText(settings)}`,
    ),
    ...plan.update.map(({ desired, drift, changes }) =>
      [
        `${paint.yellow(word.update)}  ${targetName(desired.target)}${drift ? ' (was changed by hand)' : ''}`,
        ...changes.map(indent),
      ].join('\n'),
    ),
    ...plan.delete.map(({ target }) => `${paint.red(word.delete)}  ${targetName(target)}; its data stays`),
    ...plan.stop.map((workflowId) => `${paint.red(word.stop)}  ${workflowId}: no longer configured`),
  ];
  return (count === 0 ? lines : [...lines, kept]).join('\n');
}

/** Applies the configured schedules, or only says what that would change. */
async function planOrApplySchedules(context: CommandContext, kind: 'planned' | 'done'): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { output } = context;
  const work = kind === 'done' ? applySchedules : readSchedulePlan;
  const plan = await withTemporal(config, ({ client }) =>
    work(client, config.temporal.taskQueue, config.organizations, failoverFor(config.temporal)),
  );
  output.result(planDocument(plan), planText(plan, kind, output.paint));
  if (plan.unread.length === 0) return exitCodes.done;
  output.warn(`Temporal did not answer for ${plan.unread.join(', ')}: nothing changed there; run this again`);
  return exitCodes.temporalUnreachable;
}
