import { readFileSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { load } from '../config/config-folder.ts';
import { signBeside } from '../exports/signing/sign-beside.ts';
import { smallSite, tarGz, zip } from '../tools/bundle/build-archive.ts';
import { docferry, emptyFolder } from '../tools/cli/run-docferry.ts';
import { complaintAbout, complaintAboutMention } from './check-command.ts';
import {
  consoleCommands,
  docferryArguments,
  documentationPages,
  inlineCommands,
  type Typed,
  unmarkedCommands,
} from './console-blocks.ts';

/** Commands that need neither Temporal nor the service. */
const offline = [
  'budget plan',
  'config init',
  'config check',
  'config schema',
  'export verify',
  'export versions',
  'feedback erase',
  'feedback export',
  'feedback report',
  'feedback stats',
];

interface DocferryLine {
  place: string;
  args: string[];
}

const pages = documentationPages();
const typed = pages.flatMap((page) => consoleCommands(page));
const lines = typed.flatMap(asDocferry);
const mentions = pages.flatMap((page) => inlineCommands(page)).flatMap(asDocferry);

function asDocferry({ place, words }: Typed): DocferryLine[] {
  const args = docferryArguments(words);
  return args === null ? [] : [{ place, args }];
}

function isOffline({ args }: DocferryLine): boolean {
  const asksForHelp = args.includes('--help') || args.includes('--version');
  return asksForHelp || offline.includes(args.slice(0, 2).join(' '));
}

/** A folder in which the command finds what it names: the example as configuration, a good archive, a key that signed. */
async function sceneFor(args: readonly string[]): Promise<string> {
  const folder = await emptyFolder();
  const valueAfter = (flag: string) => args[args.indexOf(flag) + 1] ?? '';
  const place = async (name: string) => {
    const path = resolve(folder, name);
    expect(path.startsWith(folder), `${name} is inside of the folder`).toBe(true);
    await mkdir(dirname(path), { recursive: true });
    return path;
  };
  if (args[1] !== 'init') {
    const config = args.includes('--config') ? valueAfter('--config') : 'docferry.yaml';
    await cp('docferry.example.yaml', await place(config));
  }
  for (const name of args.filter((arg) => /\.(zip|tar\.gz)$/.test(arg))) {
    await writeFile(await place(name), name.endsWith('.zip') ? zip(smallSite) : tarGz(smallSite));
    if (args.includes('--signature')) await signBeside(await place(name), await place(valueAfter('--signature')));
  }
  if (args.includes('--out') && valueAfter('--out') !== '-') await place(valueAfter('--out'));
  return folder;
}

describe('commands in README.md and docs/', () => {
  it('are found', () => {
    expect(pages).toContain('README.md');
    expect(lines.map(({ args }) => args.join(' '))).toContain('export start docs.acme.example --wait');
    expect(mentions.length).toBeGreaterThan(0);
  });

  it('stand in console blocks', () => {
    expect(pages.flatMap((page) => unmarkedCommands(page))).toEqual([]);
  });

  it.each(lines)('exist, with options and arguments: $args ($place)', async ({ args }) => {
    expect(await complaintAbout(args)).toBeNull();
  });

  it.each(mentions)('exist where they are mentioned: $args ($place)', async ({ args }) => {
    expect(await complaintAboutMention(args)).toBeNull();
  });

  it.each(lines.filter(isOffline))('do what they say: $args ($place)', async ({ args }) => {
    const cwd = await sceneFor(args);
    const { exitCode, stderr } = await docferry(args, { cwd, env: { ACME_API_KEY: 'key' } });
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  it('of npm are scripts of package.json', async () => {
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
    const run = typed.flatMap(({ words }) => (words[0] === 'npm' && words[1] === 'run' ? [words[2] ?? ''] : []));
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(run));
  });
});

describe('configurations in README.md and docs/', () => {
  const whole = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/^```yaml\n(service:.*?)^```$/gms)].map(([, yaml = '']) => ({
      page,
      yaml,
    })),
  );

  it.each(whole)('can be used as they stand: $page', ({ yaml }) => {
    const names = [...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
    const env = Object.fromEntries(names.map((name) => [name, 'https://value.example/x']));
    expect(load(yaml, { env, secrets: 'deferred' }).organizations).not.toEqual([]);
  });
});

describe('the check itself', () => {
  const page = `
\`\`\`console
$ ACME_API_KEY=x npx docferry feedback export prj_1 \\
    --format csv --out - | head -3 > "some file"   # a comment
docferry: this is output
$ docferry "export" start 'a b' && npm run build; node dist/src/starter.js up
\`\`\`
Text with \`docferry export start\`, \`npx docferry up --sandbox\` and \`docferryx\`.
\`\`\`yaml
$ docferry nothing
\`\`\`
`;

  it('finds each command of a console block', () => {
    expect(consoleCommands('p.md', page)).toEqual([
      { place: 'p.md:3', words: ['npx', 'docferry', 'feedback', 'export', 'prj_1', '--format', 'csv', '--out', '-'] },
      { place: 'p.md:3', words: ['head', '-3'] },
      { place: 'p.md:6', words: ['docferry', 'export', 'start', 'a b'] },
      { place: 'p.md:6', words: ['npm', 'run', 'build'] },
      { place: 'p.md:6', words: ['node', 'dist/src/starter.js', 'up'] },
    ]);
    expect(inlineCommands('p.md', page)).toEqual([
      { place: 'p.md:8', words: ['docferry', 'export', 'start'] },
      { place: 'p.md:8', words: ['docferry', 'up', '--sandbox'] },
    ]);
  });

  it('finds docferry in blocks that are not marked as console', () => {
    expect(unmarkedCommands('p.md', 'text\n```sh\n# now\nnpx docferry up\n```\n')).toEqual(['p.md:4']);
    expect(unmarkedCommands('p.md', '```yaml\ndocferry up\n```\ndocferry stands in the text\n```text\n```\n')).toEqual(
      [],
    );
  });

  it.each([
    [['exprot', 'start', 'a'], /unknown command/],
    [['export', 'begin', 'a'], /unknown command/],
    [['export', 'diff'], /missing required argument/],
    [['export', 'start', 'a', '--wiat'], /unknown option/],
    [['feedback', 'export', '--format', 'xml', '--out', 'x'], /xml/],
    [['feedback', 'stats', 'a', 'b'], /too many arguments/],
  ])('refuses %j', async (args, complaint) => {
    expect(await complaintAbout(args)).toMatch(complaint);
  });

  it.each([
    [['exprot'], 'unknown command exprot'],
    [['export', 'begin'], 'unknown command begin'],
    [['export', 'start', '--wiat'], 'unknown option --wiat'],
    [['export', 'start', '--wait'], null],
    [['export', 'start', '--json'], null],
    [['export', '…'], null],
    [['export', 'start', '--help'], null],
  ])('says of the mention %j: %j', async (args, complaint) => {
    expect(await complaintAboutMention(args)).toBe(complaint);
  });
});
