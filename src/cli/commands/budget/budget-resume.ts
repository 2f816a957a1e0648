import type { Command } from 'commander';
import type { RunCommand } from '../../context.ts';
import { withBudget } from './with-budget.ts';

export function addBudgetResume(parent: Command, run: RunCommand): void {
  parent
    .command('resume')
    .description('Grant requests again after `pause`')
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .action((org: string | undefined) =>
      run((context) => withBudget(context, org, (budget, id) => budget.pause(id, null))),
    );
}
