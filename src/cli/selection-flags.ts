import type { Command } from 'commander';

/** `--org` and `--match`, which narrow down what is configured. */
export interface SelectionFlags {
  org?: string;
  match?: string;
}

export function addSelectionFlags(command: Command, what: string): Command {
  return command
    .option('--org <org>', `only ${what} of this organization`)
    .option('--match <glob>', `only ${what} whose name matches, e.g. 'docs*.acme.example' or 'acme/*'`);
}
