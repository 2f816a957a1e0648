import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

/** Runs a check of `npm run lint` over a small repository that holds these files. */
function check(program: readonly string[], files: Readonly<Record<string, string>>): { ok: boolean; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'docferry-lint-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const shared of ['biome.json', '.dependency-cruiser.cjs']) cpSync(shared, join(folder, shared));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const all = { 'docs/promises.md': '| B1 | Never over. |\n', 'docs/decisions/0001-x.md': '# X\n', ...files };
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  spawnSync('git', ['init', '-q'], { cwd: folder });
  const [command = '', ...args] = program;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
  return { ok: status === 0, output: stdout + stderr };
}

const arrows = [resolve('node_modules/.bin/depcruise'), 'src', 'sandbox', '-T', 'err'];
const citations = [process.execPath, resolve('scripts/check-citations.mjs')];
const linter = [resolve('node_modules/.bin/biome'), 'lint', '--error-on-warnings', '--colors=off', 'src'];

type Import = readonly [from: string, specifier: string, to?: string];

/** Which of these imports the check refuses, by one run over files that each have one of them. */
function refused(imports: readonly Import[]): readonly Import[] {
  const importer = (from: string, index: number) => from.replace('/y.ts', `/y${index}.ts`);
  const files = imports.flatMap(([from, specifier, to], index) => [
    [importer(from, index), `import { x } from '${specifier}';\nexport const y = x;\n`],
    ...(to === undefined ? [] : [[to, 'export const x = 1;\n']]),
  ]);
  // `sandbox` is there since the check names it.
  const all = { 'sandbox/index.ts': 'export const sandbox = 1;\n', ...Object.fromEntries(files) };
  const { output } = check(arrows, all);
  return imports.filter(([from], index) => output.includes(`: ${importer(from, index)} \u2192 `));
}

const forbidden: readonly Import[] = [
  ['src/budget/rules/y.ts', '../../service/x.ts', 'src/service/x.ts'],
  ['src/rules/y.ts', 'node:fs'],
  ['src/rules/y.ts', '@temporalio/workflow'],
  ['src/rules/y.ts', 'echarts/core'],
  ['src/workflows/y.ts', 'node:fs'],
  ['src/workflows/y.ts', 'axios'],
  ['src/workflows/y.ts', '../feedback/x.ts', 'src/feedback/x.ts'],
  ['src/workflows/y.ts', '../runs/x.ts', 'src/runs/x.ts'],
  ['src/service/y.ts', '../exports/x.ts', 'src/exports/x.ts'],
  ['src/exports/store/y.ts', '@temporalio/common'],
  ['src/runs/y.ts', '../service/x.ts', 'src/service/x.ts'],
  ['src/activities/y.ts', '../cli/x.ts', 'src/cli/x.ts'],
  ['src/feedback/y.ts', '../exports/x.ts', 'src/exports/x.ts'],
  ['src/feedback/report/y.ts', '../../cli/x.ts', 'src/cli/x.ts'],
  ['src/cli/commands/y.ts', '../../workflows/x.ts', 'src/workflows/x.ts'],
  ['src/temporal/y.ts', '../cli/x.ts', 'src/cli/x.ts'],
  ['sandbox/y.ts', '../src/rules/x.ts', 'src/rules/x.ts'],
  ['src/exports/y.ts', './nowhere.ts'],
];

const allowed: readonly Import[] = [
  ['src/activities/y.ts', '../service/x.ts', 'src/service/x.ts'],
  ['src/cli/y.ts', '../operations/x.ts', 'src/operations/x.ts'],
  ['src/feedback/report/y.ts', '../../rules/x.ts', 'src/rules/x.ts'],
  ['src/exports/fetch/y.ts', '../archive/x.ts', 'src/exports/archive/x.ts'],
  ['src/workflows/y.ts', '@temporalio/workflow'],
];

describe('arrows between the rooms of src', () => {
  it('are refused and allowed as the list says', () => {
    expect(refused([...forbidden, ...allowed])).toEqual(forbidden);
  });

  it('are refused where they make a circle, by types too', () => {
    const circle = {
      'sandbox/index.ts': '',
      'src/rules/x.ts': "import type { Y } from './y.ts';\nexport type X = Y;\n",
      'src/rules/y.ts': "import type { X } from './x.ts';\nexport type Y = X;\n",
    };
    const { ok, output } = check(arrows, circle);
    expect(output).toContain('no-circle');
    expect(ok).toBe(false);
  });
});

describe('citations', () => {
  it.each([
    ['an id that is no promise', 'src/x.ts', '/** Never (B1, B9). */\n', 'docs/promises.md has no promise B9'],
    ['a page that does not exist', 'src/x.ts', '/** See nowhere.md. */\n', 'there is no page nowhere.md'],
    ['a decision that does not exist', 'src/x.ts', '// decisions/0999\n', 'there is no decision 0999'],
    [
      'values of activities',
      'src/workflows/x.ts',
      "import { y } from '../activities/y.ts';\n",
      'takes more than types',
    ],
  ])('are refused: %s', (_, file, content, finding) => {
    const { ok, output } = check(citations, { [file]: content });
    expect(output).toContain(finding);
    expect(ok).toBe(false);
  });

  it('are allowed where they resolve', () => {
    const text = '/** Never over (B1, promises.md; decisions/0001). */\nexport const x = 1;\n';
    expect(check(citations, { 'src/x.ts': text })).toEqual({ ok: true, output: '' });
  });
});

describe('exports', () => {
  const exports = [process.execPath, resolve('scripts/check-exports.mjs')];
  const reader = (path: string) => ({ [path]: "import { x } from '../rules/x.ts';\nx();\n" });
  const unread = 'export const x = () => 1;\nexport interface Y {}\nexport { x as z };\n';

  it('are refused where nothing imports them', () => {
    const { ok, output } = check(exports, {
      'src/rules/x.ts': unread,
      ...reader('src/cli/a.ts'),
      ...reader('src/cli/b.ts'),
    });
    expect(output).toBe('src/rules/x.ts:2: nothing imports Y\nsrc/rules/x.ts:3: nothing imports z\n');
    expect(ok).toBe(false);
  });

  it('are refused where a small file has one reader, unless it is listed', () => {
    const x = { 'src/rules/x.ts': 'export const x = () => 1;\n' };
    const { ok, output } = check(exports, { ...x, ...reader('src/cli/a.ts') });
    expect(output).toContain('src/rules/x.ts:1: has 1 lines and one reader, src/cli/a.ts');
    expect(ok).toBe(false);
    const listed = {
      'src/cli/commands/serve.ts': x['src/rules/x.ts'],
      'src/cli/a.ts': "import { x } from './commands/serve.ts';\nx();\n",
    };
    expect(check(exports, listed)).toEqual({ ok: true, output: '' });
  });
});

describe('patterns', () => {
  const patterns = [process.execPath, resolve('scripts/check-patterns.mjs')];

  it.each([
    [
      'is quadratic',
      'src/x.ts',
      "export const blank = (text: string) => text.replace(/ +$/, '');\n",
      '2nd degree polynomial',
    ],
    ['is exponential', 'sandbox/x.tsx', 'export const x = <p>{[/^(a|a)*$/]}</p>;\n', 'exponential'],
    ['is put together', 'src/x.ts', 'export const x = (a: string) => RegExp(a);\n', 'write the pattern as a literal'],
  ])('are refused: one that %s', (_, file, content, finding) => {
    const { ok, output } = check(patterns, { [file]: `// é\n${content}` });
    expect(output).toContain(`${file}:2: `);
    expect(output).toContain(finding);
    expect(ok).toBe(false);
  });

  it('are allowed where time grows with the text', () => {
    expect(check(patterns, { 'src/x.ts': 'export const x = /^a+$/;\n' })).toEqual({ ok: true, output: '' });
  });
});

it('what prints past the terminal is refused', () => {
  const { ok, output } = check(linter, { 'src/cli/x.ts': "console.log('x');\n" });
  expect(output).toContain('noConsole');
  expect(ok).toBe(false);
});
