import { Argument, type Command, type Option } from 'commander';
import { naturalOrder } from '../../rules/text.ts';
import { type CommandContext, type CommandFile, declared, loadContextConfig } from '../context.ts';

export default {
  completion: (command, run) =>
    command
      .addArgument(new Argument('<shell>', 'the shell').choices(shells))
      .addHelpText(
        'after',
        '\nFor bash, in ~/.bashrc: source <(docferry completion bash). For zsh, in ~/.zshrc after compinit: the same with' +
          '\nzsh. For fish: docferry completion fish > ~/.config/fish/completions/docferry.fish',
      )
      .action(run(printScript)),
  complete: (command, run) =>
    command
      .argument('<words...>', 'what follows `docferry`, up to the word being written, after --')
      .action(run(complete)),
} satisfies CommandFile;

const shells = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof shells)[number];

/*
 * The scripts know nothing of the commands: they ask `docferry complete`, so that they need not be renewed. Each line of
 * its answer is a word, a tab and the word's meaning. Without an answer the shell completes names of files. The short flags of
 * fish's commandline are those that versions 3 and 4 both know.
 */
const scripts: Record<Shell, string> = {
  bash: `_docferry() {
  local IFS=$'\\n'
  COMPREPLY=($(docferry complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _docferry docferry`,
  zsh: `#compdef docferry
_docferry() {
  local -a found
  found=("\${(@f)$(docferry complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} == 0 )); then
    _files
  else
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found/$'\\t'/:}")
    _describe 'docferry' found
  fi
}
compdef _docferry docferry`,
  fish: `function __docferry_complete
    set -l words (commandline -opc) "$(commandline -ct)"
    docferry complete -- $words[2..] 2>/dev/null
end
complete --command docferry --no-files --arguments '(__docferry_complete)'
complete --command docferry --condition 'test -z "$(__docferry_complete)"' --force-files`,
};

async function printScript({ output }: CommandContext, shell: Shell): Promise<void> {
  output.result({ shell, script: scripts[shell] }, scripts[shell]);
}

/** A possible completion of a command line. */
interface Candidate {
  word: string;
  /** What it means; empty for names. */
  meaning: string;
}

/** Names that the configuration gives; read only when one is wanted. */
type NamesOf = (kind: 'domain' | 'project' | 'org', configFile: string | undefined) => Promise<string[]>;

/** How the last of `words`, which may be empty, can be completed; the words follow the name of the program. */
async function candidates(program: Command, words: readonly string[], namesOf: NamesOf): Promise<Candidate[]> {
  const begun = words.at(-1) ?? '';
  const reading = await read(program, words.slice(0, -1));
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

async function read(program: Command, words: readonly string[]): Promise<Reading> {
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
      else found.command = await declared(inner);
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
async function complete(context: CommandContext, words: string[], _flags: object, command: Command): Promise<void> {
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
}
