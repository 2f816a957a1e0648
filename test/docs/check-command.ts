import { type Command, CommanderError } from 'commander';
import { declared } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/run.ts';

/** A program that only parses: no command does anything. */
function parser(): Command {
  return createProgram(
    async () => {},
    () => {},
  );
}

/** What is wrong with a whole command line: unknown commands and options, missing arguments; null when nothing is. */
export async function complaintAbout(args: readonly string[]): Promise<string | null> {
  try {
    await parser().parseAsync(args, { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? null : error.message;
  }
}

/** As `complaintAbout` for a mention in a sentence, which may leave out arguments: `docferry export start`. */
export async function complaintAboutMention(args: readonly string[]): Promise<string | null> {
  const program = parser();
  let command = program;
  for (const arg of args) {
    if (arg.startsWith('-')) {
      const [flag = ''] = arg.split('=');
      const known = [...command.options, ...program.options, ...command.createHelp().visibleOptions(command)];
      if (!known.some(({ long, short }) => long === flag || short === flag)) return `unknown option ${flag}`;
      continue;
    }
    const inner = command.commands.find((sub) => sub.name() === arg);
    if (inner) command = await declared(inner);
    else if (command.commands.length > 0 && arg !== '…') return `unknown command ${arg}`;
  }
  return null;
}
