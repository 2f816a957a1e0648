import type { Command } from 'commander';
import type { RunCommand } from '../../context.ts';
import { durationFlag } from '../../input/duration-flag.ts';
import { withBudget } from './with-budget.ts';

export function addBudgetPause(parent: Command, run: RunCommand): void {
  parent
    .command('pause')
    .description('Grant no request any more, until resumed; whoever wants some waits, and loses nothing')
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .option('--for <duration>', 'until then only, e.g. 2h')
    .action((org: string | undefined, flags: { for?: string }) =>
      run((context) => {
        const forMs = durationFlag('--for', flags.for);
        return withBudget(context, org, (budget, id) => budget.pause(id, { forMs }));
      }),
    );
}
