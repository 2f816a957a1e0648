import { applySchedules, readSchedulePlan } from '../../../schedules/schedules.ts';
import { handoverFor } from '../../../temporal/temporal-connection.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { withTemporal } from '../../session.ts';
import { planDocument, planText } from './schedules-text.ts';

/** Applies the configured schedules, or only says what that would change. */
export default async function planOrApplySchedules(
  context: CommandContext,
  kind: 'planned' | 'done',
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { output } = context;
  const work = kind === 'done' ? applySchedules : readSchedulePlan;
  const plan = await withTemporal(config, ({ client }) =>
    work(client, config.temporal.taskQueue, config.organizations, handoverFor(config.temporal)),
  );
  output.result(planDocument(plan), planText(plan, kind, output.paint));
  if (plan.unread.length === 0) return exitCodes.done;
  output.warn(`Temporal did not answer for ${plan.unread.join(', ')}: nothing changed there; run this again`);
  return exitCodes.temporalUnreachable;
}
