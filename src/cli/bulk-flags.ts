import type { Command } from 'commander';
import type { SelectionFlags } from './selection-flags.ts';
import type { SenderFlags } from './sender.ts';

/** Flags of commands that take one name, or many by these. */
export interface BulkFlags extends SelectionFlags, SenderFlags {
  all?: boolean;
  yes?: boolean;
}

/** @param what `sites` or `projects` */
export function addBulkFlags(command: Command, what: string): Command {
  return command
    .option('--all', `all configured ${what} instead of one`)
    .option('--org <org>', `all ${what} of this organization`)
    .option('--match <glob>', `all ${what} whose name matches, e.g. 'docs*.acme.example' or 'acme/*'`)
    .option('--yes', 'with --all, --org or --match: do what is planned without asking');
}
