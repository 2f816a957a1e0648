import { Command } from 'commander';
import { addBudgetCommands } from './commands/budget/index.ts';
import { addCompletionCommands } from './commands/completion/index.ts';
import { addConfigCommands } from './commands/config/index.ts';
import { addExportCommands } from './commands/export/index.ts';
import { addFeedbackCommands } from './commands/feedback/index.ts';
import { addTopLevelCommands } from './commands/index.ts';
import { addScheduleCommands } from './commands/schedules/index.ts';
import { addStoreCommands } from './commands/store/index.ts';
import { callHandlers, type RunCommand } from './context.ts';
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

const parts = [
  addTopLevelCommands,
  addConfigCommands,
  addExportCommands,
  addFeedbackCommands,
  addBudgetCommands,
  addStoreCommands,
  addScheduleCommands,
  addCompletionCommands,
];

/** All commands. Commander's help, version and complaints go to `write`; commands are run by `run`. */
export function createProgram(run: RunCommand, write: (text: string) => void): Command {
  const program = new Command('docferry')
    .description('Carries static-export bundles and user feedback out of a hosted documentation platform, on Temporal.')
    .version(packageVersion(), '--version', 'print the version')
    .option('--config <file>', 'configuration file; default: DOCFERRY_CONFIG, else ./docferry.yaml')
    .option('--json', 'print exactly one JSON document on stdout, and the rest on stderr')
    .option('--quiet', 'print no progress')
    .option('--no-color', 'print no colours')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: write, writeErr: write })
    .exitOverride()
    .addHelpText('after', examples);
  const call = callHandlers(run);
  for (const addCommands of parts) addCommands(program, call);
  return program;
}
