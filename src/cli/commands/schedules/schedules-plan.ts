import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { planDocument, planText } from './schedules-text.ts';

export function addSchedulesPlan(parent: Command, run: RunCommand): void {
  parent
    .command('plan')
    .description('What `schedules apply` would change, and what was changed by hand; changes nothing')
    .action(() => run(plan));
}

async function plan(context: CommandContext): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { readSchedulePlan } = await import('../../../client/schedules.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { output } = context;
  const planned = await withTemporal(config, ({ client }) =>
    readSchedulePlan(client, config.temporal.taskQueue, config.organizations),
  );
  output.result(planDocument(planned), planText(planned, 'planned', output.paint));
  return exitCodes.done;
}
