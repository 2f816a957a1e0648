import type { Command } from 'commander';
import type { CallHandler } from '../../context.ts';

export function addConfigCommands(program: Command, call: CallHandler): void {
  const config = program.command('config').description('Create and check the configuration');
  config
    .command('init')
    .description('Write an example configuration to start from')
    .option('--out <file>', 'file to write, - for stdout; default: the file that the other commands read')
    .option('--sandbox', 'an example for `docferry sandbox` on this machine instead of a real service')
    .option('--force', 'replace an existing file')
    .action(call(() => import('./config-init.ts')));
  config
    .command('check')
    .description('Check the configuration and show what it means')
    .option(
      '--expand',
      'print the configuration as docferry sees it: with all defaults and paths, an entry for each site, and no secrets',
    )
    .action(call(() => import('./config-check.ts')));
  config
    .command('schema')
    .description('Print the JSON Schema of the configuration, for editors')
    .action(call(() => import('./config-schema.ts')));
}
