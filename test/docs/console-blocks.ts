import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The pages whose commands and links are checked, relative to the repository. */
export function documentationPages(): string[] {
  const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md', ...docs.sort()];
}

/** A command a page tells people to type. */
export interface Typed {
  /** `README.md:12` */
  place: string;
  words: string[];
}

/** Every command after a `$ ` in the console blocks of a page, one for each part of a pipeline or list. */
export function consoleCommands(page: string, text = readFileSync(page, 'utf8')): Typed[] {
  const blocks = fencedBlocks(text).filter(({ info }) => info === 'console');
  return blocks.flatMap(({ first, lines }) => {
    const found: Typed[] = [];
    for (let index = 0; index < lines.length; index += 1) {
      if (!lines[index]?.startsWith('$ ')) continue;
      const place = `${page}:${first + index}`;
      let typed = lines[index]?.slice(2) ?? '';
      while (typed.endsWith('\\')) {
        index += 1;
        typed = `${typed.slice(0, -1)} ${lines[index] ?? ''}`;
      }
      found.push(...simpleCommands(typed).map((words) => ({ place, words })));
    }
    return found;
  });
}

/** What stands in backquotes in the text of a page and begins with `docferry `. */
export function inlineCommands(page: string, text = readFileSync(page, 'utf8')): Typed[] {
  const lines = text.split('\n');
  for (const { first, lines: inside } of fencedBlocks(text)) lines.fill('', first - 2, first + inside.length);
  const prose = lines.join('\n');
  return [...prose.matchAll(/`(?:npx )?(docferry\s[^`]+)`/g)].flatMap((match) => {
    const line = prose.slice(0, match.index).split('\n').length;
    return simpleCommands(match[1] ?? '').map((words) => ({ place: `${page}:${line}`, words }));
  });
}

/** Places of commands in blocks that are not marked `console`, where they would not be checked. */
export function unmarkedCommands(page: string, text = readFileSync(page, 'utf8')): string[] {
  const blocks = fencedBlocks(text).filter(({ info }) => ['', 'sh', 'bash', 'shell', 'zsh'].includes(info));
  return blocks.flatMap(({ first, lines }) =>
    lines.flatMap((line, index) => (/^(\$ )?(npx )?docferry [a-z-]/.test(line) ? [`${page}:${first + index}`] : [])),
  );
}

interface Block {
  info: string;
  /** Number of its first line inside, counted from 1. */
  first: number;
  lines: string[];
}

function fencedBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const [, info] = /^\s*```(.*)$/.exec(line) ?? [];
    if (info === undefined) open?.lines.push(line.trimStart());
    else if (open) open = null;
    else {
      open = { info: info.trim(), first: index + 2, lines: [] };
      blocks.push(open);
    }
  }
  return blocks;
}

/** The arguments of docferry; null for the commands of others. */
export function docferryArguments(words: readonly string[]): string[] | null {
  const rest = words.filter((word, index) => !(index === 0 && word === 'npx'));
  if (rest[0] === 'docferry') return rest.slice(1);
  return rest[0] === 'node' && rest[1] === 'dist/src/starter.js' ? rest.slice(2) : null;
}

const token =
  /"((?:[^"\\]|\\.)*)"|'([^']*)'|\s+(#.*)$|(\|\||&&|[|;&]|\d?>&\d|\d?[<>]+)|((?:[^\s"'|;&<>\\#]|\\.|(?<=\S)#)+)|(\s+)/gu;

/** The simple commands of a line of shell, as words: no variables set before them, no redirections. */
function simpleCommands(line: string): string[][] {
  const commands: string[][] = [[]];
  let word: string | null = null;
  let target = false;
  const end = (): void => {
    const command = commands.at(-1);
    const isAssignment = command?.length === 0 && /^[A-Z_]+=/.test(word ?? '');
    if (word !== null && !target && !isAssignment) command?.push(word);
    if (word !== null) target = false;
    word = null;
  };
  for (const [, double, single, comment, operator, plain, blank] of line.matchAll(token)) {
    if (blank !== undefined || comment !== undefined) end();
    else if (operator === undefined) word = (word ?? '') + (double ?? single ?? plain ?? '').replaceAll(/\\(.)/g, '$1');
    else {
      end();
      if (/[<>]/.test(operator)) target = !operator.includes('&');
      else commands.push([]);
    }
  }
  end();
  return commands.filter((words) => words.length > 0);
}
