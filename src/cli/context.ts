import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
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
