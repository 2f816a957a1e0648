import type { Command } from 'commander';
import type { RunCommand } from '../../context.ts';
import { withBudget } from './with-budget.ts';

export function addBudgetReset(parent: Command, run: RunCommand): void {
  parent
    .command('reset')
    .description('Let the configuration rule again after `set`; the requests in the window stay counted')
    .argument('[org]', 'id of a configured organization; may be left out when there is one')
    .action((org: string | undefined) =>
      run((context) => withBudget(context, org, (budget, id) => budget.override(id, null))),
    );
}
