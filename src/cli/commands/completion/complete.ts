import type { Command } from 'commander';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { candidates, type NamesOf } from './candidates.ts';

/** Called by the shell at each press of Tab: neither Temporal nor a store is asked. */
export default async function complete(
  context: CommandContext,
  words: string[],
  _flags: object,
  command: Command,
): Promise<ExitCode> {
  const namesOf: NamesOf = async (kind, configFile = context.configFile) => {
    try {
      const { organizations } = await loadContextConfig({ ...context, configFile });
      if (kind === 'org') return organizations.map(({ id }) => id);
      if (kind === 'domain') return organizations.flatMap(({ sites }) => sites.map(({ domain }) => domain));
      return organizations.flatMap(({ projects }) => projects.map(({ id }) => id));
    } catch {
      // Whatever is wrong with the configuration, this is no place to say it.
      return [];
    }
  };
  const found = await candidates(command.parent ?? command, words, namesOf);
  const lines = found.map(({ word, meaning }) => (meaning === '' ? word : `${word}\t${meaning}`));
  if (lines.length > 0 || context.output.json) context.output.result({ candidates: found }, lines.join('\n'));
  return exitCodes.done;
}
