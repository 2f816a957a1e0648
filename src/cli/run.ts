import { Command, CommanderError, Help } from 'commander';
import { ExplainedError } from '../rules/errors.ts';
import { type CommandGroup, commands, hiddenCommand } from './commands.ts';
import {
  type CommandContext,
  declared,
  declareLater,
  type Ending,
  exitCodes,
  explainedFailure,
  type Failure,
  failureOf,
  Output,
  type OutputStream,
  type RunHandler,
  usageFailure,
} from './context.ts';
import { packageVersion } from './package-file.ts';

/** Flags of every command. */
interface GlobalFlags {
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
type RunCommand = (work: (context: CommandContext) => Ending) => Promise<void>;

/** All commands, by name and summary. Commander's help, version and complaints go to `write`; commands are run by `run`. */
export function createProgram(runCommand: RunCommand, write: (text: string) => void): Command {
  const terms = new Map<Command, string>();
  const program = new Command('docferry')
    .description(commands.summary)
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
  const add = (parent: Command, { commands, files }: CommandGroup) => {
    for (const [term, entry] of Object.entries(commands)) {
      const [name = ''] = term.split(' ');
      const command = parent.command(name, { hidden: name === hiddenCommand });
      terms.set(command, term);
      const [load] = files.find(([, ...names]) => names.includes(name)) ?? [];
      if (typeof entry !== 'string') add(command.description(entry.summary), entry);
      else declareLater(command.description(entry), async () => (await load?.())?.default[name]?.(command, run));
    }
    addHelp(parent);
    parent.hook('preSubcommand', async (_, command) => {
      await declared(command);
    });
  };
  add(program, commands);
  return program;
}

/** Commander's own help command knows one name, and does not wait for the file of the command it is asked about. */
function addHelp(parent: Command): void {
  parent
    .helpCommand(false)
    .command('help')
    .argument('[command...]')
    .description('display help for command')
    .action(async (names: string[]) => {
      let command = parent;
      for (const name of names) {
        const named = command.commands.find((each) => each.name() === name);
        if (!named) throw usageFailure(`unknown command '${name}'`, `see \`${pathOf(command)} --help\``);
        command = named;
      }
      (await declared(command)).help();
    });
}

/** `docferry export start` */
function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** What a command line reads and prints on. */
interface Surroundings {
  env: NodeJS.ProcessEnv;
  cwd: string;
  stdout: OutputStream;
  stderr: OutputStream;
}

/** Runs the command line of this process; returns its exit code once everything is written, and never rejects. */
export async function runDocferry(argv: readonly string[]): Promise<number> {
  const { env, stdout, stderr } = process;
  const lost = bearBrokenOutputs();
  const exitCode = await runIn({ env, cwd: process.cwd(), stdout, stderr }, argv, reportUncaught);
  for (const stream of [stdout, stderr]) await new Promise<void>((resolve) => stream.write('', () => resolve()));
  // A stream says that a write has failed only after this.
  await new Promise((resolve) => setImmediate(resolve));
  return lost() ? new Promise<number>(() => {}) : exitCode;
}

/** Like `runDocferry`, in these surroundings; `begin` is given the output before the command runs. */
export async function runIn(
  surroundings: Surroundings,
  argv: readonly string[],
  begin: (output: () => Output) => void = () => {},
): Promise<number> {
  const { env, cwd } = surroundings;
  let exitCode: number = exitCodes.done;
  let printed = '';
  const run = async (work: (context: CommandContext) => Ending) => {
    exitCode = await inTrace(env, commandIn(program, argv), async () => (await work(context())) ?? exitCodes.done);
  };
  const program = createProgram(run, (text) => {
    printed += text;
  });
  const output = lazily(() => outputOf(program.opts<GlobalFlags>(), surroundings));
  begin(output);
  const context = (): CommandContext => ({
    output: output(),
    configFile: program.opts<GlobalFlags>().config,
    env,
    cwd,
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      const text = printed.trimEnd();
      // The version is printed while the flags are still being read.
      const plain = outputOf({ ...program.opts<GlobalFlags>(), json: argv.includes('--json') }, surroundings);
      plain.result(error.code === 'commander.version' ? { version: text } : { help: text }, text);
      return exitCodes.done;
    }
    const help = `see \`${commandIn(program, argv)} --help\``;
    if (!(error instanceof CommanderError)) return reportFailure(output(), error, env, help);
    // A command without its subcommand shows its help; scripts need no page of text.
    if (error.code === 'commander.help') output().help(printed);
    const message = error.code === 'commander.help' ? 'name a command' : error.message.replace(/^error: /, '');
    const complaint = usageFailure(message, help);
    output().failure(complaint, null);
    return complaint.exitCode;
  }
}

/** Traces are off, and their code is not loaded, unless OpenTelemetry's own variables name a collector (monitoring.md). */
async function inTrace(env: NodeJS.ProcessEnv, name: string, work: () => Promise<number>): Promise<number> {
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (isOff || !(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)) return work();
  const { endTraces, startTraces, traced } = await import('../temporal/traces.ts');
  await startTraces();
  try {
    return await traced(name, {}, work);
  } finally {
    await endTraces();
  }
}

function outputOf({ json, quiet, color }: GlobalFlags, { env, stdout, stderr }: Surroundings): Output {
  return new Output({ json: json === true, quiet: quiet === true, color, env, stdout, stderr });
}

/** The command that a command line names, with its groups. */
function commandIn(program: Command, words: readonly string[]): string {
  let [path, group] = [program.name(), program];
  for (const word of words) {
    const command = group.commands.find((each) => each.name() === word);
    if (command) [path, group] = [`${path} ${word}`, command];
  }
  return path;
}

/** @param help the hint of a wrong command line that has no better one */
async function reportFailure(
  output: Output,
  error: unknown,
  env: NodeJS.ProcessEnv,
  help: string | null = null,
): Promise<number> {
  const { code, message, hint, exitCode } = await explain(error);
  const failure = { code, message, hint: hint ?? (code === 'Usage' ? help : null), exitCode };
  const debug = env.DOCFERRY_DEBUG === '1' && error instanceof Error;
  output.failure(failure, debug ? (error.stack ?? null) : null);
  return failure.exitCode;
}

/** Errors that a library throws outside any call end the process with one message, not with a page of stack. */
function reportUncaught(output: () => Output): void {
  const end = async (error: unknown) => process.exit(await reportFailure(output(), error, process.env));
  process.on('uncaughtException', (error) => void end(error));
  process.on('unhandledRejection', (error) => void end(error));
}

/** Other errors need Temporal's client to be explained, which is loaded only then. */
async function explain(error: unknown): Promise<Failure> {
  if (error instanceof ExplainedError) return explainedFailure(error);
  try {
    const { explainFailure } = await import('./explain-failure.ts');
    return explainFailure(error);
  } catch {
    const message = error instanceof Error ? error.message : String(error);
    return failureOf('Failed', message, 'this installation is damaged: reinstall it');
  }
}

/**
 * `docferry … | head` closes our stdout, and stderr may be on a full disk: neither ends any work. A result that cannot
 * be written is an uncaught error. Returns whether that has happened.
 */
function bearBrokenOutputs(): () => boolean {
  let lost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    lost = true;
    throw error;
  });
  process.stderr.on('error', () => {});
  return () => lost;
}

function lazily<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= make();
    return value;
  };
}
