import type { Config } from '../config/config.ts';
import type { ExitCode } from './failures/exit-codes.ts';
import type { Output } from './terminal/output.ts';

/** What every command is given. */
export interface CommandContext {
  output: Output;
  /** Value of `--config`. */
  configFile: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
}

/** Runs a command's work with its context; what it throws is reported, what it returns is the exit code. */
export type RunCommand = (work: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;

/** The configuration for a command that needs no API key. Throws `ConfigError`. */
export async function loadContextConfig(
  context: CommandContext,
  secrets: 'required' | 'deferred' = 'deferred',
): Promise<Config> {
  const { loadConfig } = await import('../config/load.ts');
  const { configFile, env, cwd } = context;
  return loadConfig({ env, cwd, secrets, ...(configFile === undefined ? {} : { file: configFile }) });
}
