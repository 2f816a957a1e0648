import type { Command } from 'commander';
import type { CallHandler } from '../../context.ts';

export function addStoreCommands(program: Command, call: CallHandler): void {
  const store = program.command('store').description('Check the store of published versions');
  store
    .command('verify')
    .description('Hash published versions again, and name those that are partial or tampered with')
    .argument('[domain]', 'domain of a site; default: all in the store')
    .addHelpText('after', '\nReads every published byte and changes nothing. Exit code 1 unless every version is good.')
    .action(call(() => import('./store-verify.ts')));
}
