import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import type { ExitCode } from './failure.ts';
import type { Output } from './terminal/output.ts';

/** What every command is given. */
export interface CommandContext {
  output: Output;
  /** Value of `--config`. */
  configFile: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
}

/** The configuration for a command that needs no API key. Throws `ConfigError`. */
export async function loadContextConfig(
  { configFile, env, cwd }: CommandContext,
  secrets: 'required' | 'gateway' | 'deferred' = 'deferred',
): Promise<Config> {
  return loadConfig({ env, cwd, secrets, ...(configFile === undefined ? {} : { file: configFile }) });
}

/** Runs a command's work with its context; what it throws is reported, what it returns is the exit code. */
export type RunCommand = (work: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;

/** A handler's module: its one function takes the context, bound values, and what the command line gave. */
type Handler<Args extends unknown[]> = () => Promise<{
  default: (context: CommandContext, ...args: Args) => Promise<ExitCode>;
}>;

/** Makes a command's action of a handler which is loaded when the command is called: help needs none of them. */
export type CallHandler = <Bound extends unknown[], Given extends unknown[]>(
  load: Handler<[...Bound, ...Given]>,
  ...bound: Bound
) => (...given: Given) => Promise<void>;

export function callHandlers(run: RunCommand): CallHandler {
  return (load, ...bound) =>
    (...given) =>
      run(async (context) => (await load()).default(context, ...bound, ...given));
}
