import type { Argument, Command, Option } from 'commander';
import { naturalOrder } from '../../../rules/text.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';

/** A possible completion of a command line. */
export interface Candidate {
  word: string;
  /** What it means; empty for names. */
  meaning: string;
}

/** Names that the configuration gives; read only when one is wanted. */
export type NamesOf = (kind: 'domain' | 'project' | 'org', configFile: string | undefined) => Promise<string[]>;

/** How the last of `words`, which may be empty, can be completed; the words follow the name of the program. */
export async function candidates(program: Command, words: readonly string[], namesOf: NamesOf): Promise<Candidate[]> {
  const begun = words.at(-1) ?? '';
  const reading = read(program, words.slice(0, -1));
  const { command, awaited, configFile } = reading;
  const inner = command.createHelp().visibleCommands(command);
  const all = (): Candidate[] | Promise<Candidate[]> => {
    if (awaited !== null) return valuesOf(awaited, awaited.attributeName());
    if (begun.startsWith('-')) return flagsOf(command, program);
    if (inner.length > 0) return inner.map((sub) => ({ word: sub.name(), meaning: sub.description() }));
    const argument = argumentOf(reading);
    return argument === undefined ? [] : valuesOf(argument, argument.name());
  };
  const valuesOf = async ({ argChoices }: Option | Argument, kind: string): Promise<Candidate[]> => {
    const isName = kind === 'domain' || kind === 'project' || kind === 'org';
    const values = argChoices ?? (isName ? await namesOf(kind, configFile) : []);
    return values.map((word) => ({ word, meaning: '' }));
  };
  return (await all()).filter(({ word }) => word.startsWith(begun)).sort((a, b) => naturalOrder(a.word, b.word));
}

/** The argument that comes next; the last one again if it takes any number of words. */
function argumentOf({ command, places }: Reading): Argument | undefined {
  const all = command.registeredArguments;
  return all[places] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
}

interface Reading {
  command: Command;
  /** Arguments given so far. */
  places: number;
  /** The option whose value comes next. */
  awaited: Option | null;
  configFile: string | undefined;
}

function read(program: Command, words: readonly string[]): Reading {
  const found: Reading = { command: program, places: 0, awaited: null, configFile: undefined };
  for (const word of words) {
    if (found.awaited !== null) {
      if (found.awaited.long === '--config') found.configFile = word;
      found.awaited = null;
    } else if (word.startsWith('-')) {
      const [flag, value] = word.split('=');
      const option = [...found.command.options, ...program.options].find(
        ({ long, short }) => flag === long || flag === short,
      );
      if (option?.long === '--config') found.configFile = value;
      found.awaited = option?.required && value === undefined ? option : null;
    } else {
      const inner = found.command.commands.find((sub) => sub.name() === word);
      if (inner === undefined) found.places += 1;
      else found.command = inner;
    }
  }
  return found;
}

function flagsOf(command: Command, program: Command): Candidate[] {
  const help = command.createHelp();
  const options = new Set([...help.visibleOptions(command), ...help.visibleOptions(program)]);
  const flags = [...options].map(({ long, short, description }) => [long ?? short ?? '', description] as const);
  return [...new Map(flags)].map(([word, meaning]) => ({ word, meaning }));
}

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
