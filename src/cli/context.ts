import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Ending } from './failure.ts';
import type { Output } from './terminal/output.ts';

/** What every command is given. */
export interface CommandContext {
  output: Output;
  configFile: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
}

/** The configuration for a command that needs no API key. Throws `ConfigError`. */
export async function loadContextConfig(
  { configFile, env, cwd }: CommandContext,
  secrets: 'required' | 'gateway' | 'deferred' = 'deferred',
): Promise<Config> {
  // Help needs this file, but no reader of configurations.
  const { loadConfig } = await import('../config/load.ts');
  return loadConfig({ env, cwd, secrets, ...(configFile === undefined ? {} : { file: configFile }) });
}

/** What a file of commands exports: for each of its commands what declares its arguments, flags, help and handler. */
export type CommandFile = Readonly<Record<string, (command: Command, run: RunHandler) => void>>;

/** Makes a command's action of a handler, which takes the context, bound values, and what the command line gave. */
export type RunHandler = <Bound extends unknown[], Given extends unknown[]>(
  handler: (context: CommandContext, ...args: [...Bound, ...Given]) => Ending,
  ...bound: Bound
) => (...given: Given) => Promise<void>;

const declarations = new WeakMap<Command, () => Promise<void>>();

/** Leaves a command with its name and summary until `declared` is called. */
export function declareLater(command: Command, declare: () => Promise<void>): void {
  declarations.set(command, declare);
}

/** Completes a command from its file, once. */
export async function declared(command: Command): Promise<Command> {
  const declare = declarations.get(command);
  declarations.delete(command);
  await declare?.();
  return command;
}
