import type { Command } from 'commander';
import type { RunCommand } from '../../context.ts';
import { usageFailure } from '../../failures/cli-failure.ts';
import { durationFlag } from '../../input/duration-flag.ts';
import { withBudget } from './with-budget.ts';

interface SetFlags {
  requests?: string;
  reserve?: string;
  for?: string;
}

export function addBudgetSet(parent: Command, run: RunCommand): void {
  parent
    .command('set')
    .description('Set limit or reserve by hand; it stands instead of the configuration until --for ends or `reset`')
    .argument('<org>', 'id of a configured organization')
    .option('--requests <n>', 'requests a window')
    .option('--reserve <n>', 'requests of each window left to other programs')
    .option('--for <duration>', 'until then only, e.g. 2h')
    .action((org: string, flags: SetFlags) =>
      run((context) => {
        const requests = wholeNumber('--requests', flags.requests);
        const reserve = wholeNumber('--reserve', flags.reserve);
        const forMs = durationFlag('--for', flags.for);
        if (requests === undefined && reserve === undefined) throw usageFailure('give --requests, --reserve or both');
        return withBudget(context, org, (budget, id) =>
          budget.override(id, {
            ...(requests === undefined ? {} : { requests }),
            ...(reserve === undefined ? {} : { reserve }),
            forMs,
          }),
        );
      }),
    );
}

function wholeNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw usageFailure(`${flag} held ${JSON.stringify(text)}: it must be a whole number`);
}
