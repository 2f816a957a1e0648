import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { planDocument, planText } from './schedules-text.ts';

export function addSchedulesApply(parent: Command, run: RunCommand): void {
  parent
    .command('apply')
    .description(
      'Give Temporal exactly the schedules of the configuration; paused ones stay paused. `up` does it by itself',
    )
    .action(() => run(apply));
}

async function apply(context: CommandContext): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { applySchedules } = await import('../../../client/schedules.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { output } = context;
  const done = await withTemporal(config, ({ client }) =>
    applySchedules(client, config.temporal.taskQueue, config.organizations),
  );
  output.result(planDocument(done), planText(done, 'done', output.paint));
  return exitCodes.done;
}
