import { Argument, type Command } from 'commander';
import type { CallHandler } from '../../context.ts';
import { shells } from './print-script.ts';

export function addCompletionCommands(program: Command, call: CallHandler): void {
  program
    .command('completion')
    .description('Print what lets a shell complete commands, flags and the names in the configuration')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      '\nFor bash, in ~/.bashrc: source <(docferry completion bash). For zsh, in ~/.zshrc after compinit: the same with' +
        '\nzsh. For fish: docferry completion fish > ~/.config/fish/completions/docferry.fish',
    )
    .action(call(() => import('./print-script.ts')));
  program
    .command('complete', { hidden: true })
    .description('Print how the last of these words of a command line may go on, a line for each way')
    .argument('<words...>', 'what follows `docferry`, up to the word being written, after --')
    .action(call(() => import('./complete.ts')));
}
