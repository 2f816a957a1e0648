import { type Command, CommanderError } from 'commander';
import { ExplainedError } from '../rules/errors.ts';
import type { CommandContext } from './context.ts';
import { exitCodes, explainedFailure, type Failure, failureOf, usageFailure } from './failure.ts';
import { createProgram, type GlobalFlags } from './program.ts';
import { Output, type OutputStream } from './terminal/output.ts';

/** What a command line reads and prints on. */
interface Surroundings {
  env: NodeJS.ProcessEnv;
  cwd: string;
  stdout: OutputStream;
  stderr: OutputStream;
}

/**
 * Runs the command line of this process and returns its exit code once everything is written; never rejects. Prints through
 * `Output` only.
 */
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
  const run = async (work: (context: CommandContext) => Promise<number>) => {
    exitCode = await inTrace(env, commandIn(program, argv), () => work(context()));
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
    const complaint = usageOf(error, help);
    output().failure(complaint, null);
    return complaint.exitCode;
  }
}

/** Traces are off, and their code is not loaded, unless OpenTelemetry's own variables name a collector (monitoring.md). */
async function inTrace(env: NodeJS.ProcessEnv, name: string, work: () => Promise<number>): Promise<number> {
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT && !env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return work();
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

/** Commander's own complaints. */
function usageOf(error: CommanderError, help: string): Failure {
  const message = error.code === 'commander.help' ? 'name a command' : error.message.replace(/^error: /, '');
  return usageFailure(message, help);
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
 * `docferry … | head` closes our stdout: later output is dropped. So is output that does not fit on the disk of
 * stderr: a full log ends no work. A result that cannot be written is an uncaught error, whose report ends the process.
 * Returns whether that has happened.
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
