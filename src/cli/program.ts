import { Command, Help } from 'commander';
import { type CommandEntry, type CommandGroup, commands } from './commands.ts';
import { type CommandContext, declared, declareLater, type RunHandler } from './context.ts';
import type { ExitCode } from './failure.ts';
import { packageVersion } from './package-file.ts';

/** Flags of every command. */
export interface GlobalFlags {
  config?: string;
  json?: boolean;
  quiet?: boolean;
  color: boolean;
}

const examples = `
Examples:
  docferry demo                                      the whole story on this machine, against a stand-in service
  docferry up                                        Temporal, a worker and the bundle server on this machine
  docferry export start docs.acme.example --wait     export a site and watch it
  docferry feedback sync prj_1 --wait --timeout 30m  read new feedback, waiting half an hour at most
  docferry budget show                               what is left of the hourly requests
  docferry export verify bundle.tar.gz --json        check an archive, for a script

Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 Temporal unreachable, 4 no such thing, 5 still running`;

/** Runs the work of a command with its context; reports what it throws, and exits with the code that it returns. */
type RunCommand = (work: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;

/** All commands, by name and summary. Commander's help, version and complaints go to `write`; commands are run by `run`. */
export function createProgram(runCommand: RunCommand, write: (text: string) => void): Command {
  const terms = new Map<Command, string>();
  const program = new Command('docferry')
    .description('Carries static-export bundles and user feedback out of a hosted documentation platform, on Temporal.')
    .version(packageVersion(), '--version', 'print the version')
    .option('--config <file>', 'configuration file; default: DOCFERRY_CONFIG, else ./docferry.yaml')
    .option('--json', 'print exactly one JSON document on stdout, and the rest on stderr')
    .option('--quiet', 'print no progress')
    .option('--no-color', 'print no colours')
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command) => terms.get(command) ?? new Help().subcommandTerm(command),
    })
    .configureOutput({ writeOut: write, writeErr: write })
    .exitOverride()
    .addHelpText('after', examples);
  const run: RunHandler =
    (handler, ...bound) =>
    (...given) =>
      runCommand((context) => handler(context, ...bound, ...given));
  const add = (parent: Command, entries: readonly (CommandEntry | CommandGroup)[]) => {
    for (const entry of entries) {
      const [name = ''] = entry.term.split(' ');
      const command = parent
        .command(name, { hidden: 'hidden' in entry && entry.hidden === true })
        .description(entry.summary);
      terms.set(command, entry.term);
      if ('commands' in entry) add(command, entry.commands);
      else declareLater(command, async () => (await entry.file()).default[name]?.(command, run));
    }
    addHelp(parent);
    parent.hook('preSubcommand', async (_, command) => {
      await declared(command);
    });
  };
  add(program, commands);
  return program;
}

/** Commander's own help command does not wait for the file of the command it is asked about. */
function addHelp(parent: Command): void {
  parent
    .helpCommand(false)
    .command('help')
    .argument('[command]')
    .description('display help for command')
    .allowExcessArguments()
    .action(async (name?: string) => {
      const named = name === undefined ? parent : parent.commands.find((command) => command.name() === name);
      if (named === undefined) parent.help({ error: true });
      (await declared(named)).help();
    });
}
