import type { Command } from 'commander';
import { declared } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/run.ts';

const intro = `# Commands

<!-- Generated from the commands' own help by \`npm run docs\`: change it there. -->

In a checkout, run \`npx docferry …\` after \`npm ci && npm run build\`. The options of \`docferry\` itself work with every command.
[contracts.md](contracts.md) describes exit codes and JSON documents.
`;

/** `docs/commands.md`: the help of docferry and of every command below it, in the order of the help. */
export async function commandsPage(): Promise<string> {
  let printed = '';
  const program = createProgram(
    async () => {},
    (text) => {
      printed += text;
    },
  );
  program.configureOutput({ getOutHelpWidth: () => 80 }).outputHelp();
  const sections: string[] = [];
  for (const { name, command } of leaves(program, '')) sections.push(sectionText(name, await declared(command)));
  return [intro, `${block(printed)}\n`, ...sections].join('\n');
}

interface Leaf {
  name: string;
  command: Command;
}

/** Commands that do something, groups left out. */
function leaves(command: Command, parents: string): Leaf[] {
  const name = `${parents} ${command.name()}`.trim();
  const inner = command
    .createHelp()
    .visibleCommands(command)
    .filter((sub) => sub.name() !== 'help');
  return inner.length === 0 ? [{ name, command }] : inner.flatMap((sub) => leaves(sub, name));
}

function sectionText(name: string, command: Command): string {
  const help = command.createHelp();
  const usage = help.commandUsage(command);
  const parts = [`## ${name}`, command.description(), block(usage)];
  const terms = [
    ...help
      .visibleArguments(command)
      .map((argument) => [help.argumentTerm(argument), help.argumentDescription(argument)]),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map((option) => [help.optionTerm(option), help.optionDescription(option)]),
  ];
  if (terms.length > 0) parts.push(['| | |', '|---|---|', ...terms.map(row)].join('\n'));
  return `${parts.join('\n\n')}\n`;
}

function row(cells: readonly (string | undefined)[]): string {
  const [term = '', meaning = ''] = cells;
  return `| \`${escaped(term)}\` | ${escaped(meaning).replaceAll('<', '\\<')} |`;
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}

function block(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}
