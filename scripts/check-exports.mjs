/**
 * Every exported name is imported somewhere, and a file of src with one reader and few lines belongs into that reader,
 * unless it is listed here. Part of `npm run lint`; prints each finding as `file:line: text`. With `--fix`, declarations
 * that nothing imports lose their `export`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Small files with one reader that stay: each is a command, loaded when it is called. */
const faces = [
  'src/cli/commands/console.ts',
  'src/cli/commands/export/export-decide.ts',
  'src/cli/commands/export/export-history.ts',
  'src/cli/commands/feedback/feedback-move.ts',
  'src/cli/commands/history.ts',
  'src/cli/commands/serve.ts',
];
const fewLines = 60;
const mostFaces = 25;

/** What others than this repository's imports read: Temporal's bundler, vitest, users of the sandbox. */
const entries =
  /^(src\/workflows\/(index|traces)\.ts|src\/temporal\/failure-converter\.ts|test\/tools\/temporal\/continued-runs\.ts|sandbox\/index\.ts|vitest\.config\.ts|.*\.test\.ts)$/;

const files = new Map(
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.(tsx?|mjs|cjs)$/.test(file) && existsSync(file))
    .map((file) => [file, readFileSync(file, 'utf8')]),
);
/** By file, those that import it, dynamically too. */
const readers = new Map();
for (const [file, text] of files) {
  for (const [, path] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)) {
    const read = join(dirname(file), path);
    readers.set(read, (readers.get(read) ?? new Set()).add(file));
  }
}

const declared = /^export (?:declare |abstract |async )*(?:const|let|class|function\*?|interface|type|enum) (\w+)/gm;
const listed = /^export (?:type )?\{([^}]*)\}/gm;
const findings = [];

for (const [file, text] of files) {
  const known = [...(readers.get(file) ?? [])];
  const place = (index) => `${file}:${text.slice(0, index).split('\n').length}`;
  const names = [
    ...[...text.matchAll(declared)].map(({ 1: name, index }) => ({ name, index })),
    ...[...text.matchAll(listed)].flatMap(({ 1: list, index }) =>
      (list.match(/\w+(?=\s*(?:,|$))/g) ?? []).map((name) => ({ name, index })),
    ),
  ].sort((one, other) => one.index - other.index);
  const dead = [];
  for (const { name, index } of entries.test(file) ? [] : names) {
    const word = new RegExp(`\\b${name}\\b`);
    if (known.some((reader) => word.test(files.get(reader)))) continue;
    findings.push(`${place(index)}: nothing imports ${name}`);
    dead.push(index);
  }
  if (process.argv.includes('--fix') && dead.length > 0) {
    const pieces = dead.map((start, part) => text.slice(start, dead[part + 1]).replace(/^export (?!(type )?\{)/, ''));
    writeFileSync(file, text.slice(0, dead[0]) + pieces.join(''));
  }
  const inside = known.filter((reader) => reader.startsWith('src/'));
  const lines = text.split('\n').length - 1;
  if (!file.startsWith('src/') || inside.length !== 1 || lines >= fewLines || faces.includes(file)) continue;
  findings.push(`${file}:1: has ${lines} lines and one reader, ${inside[0]}: put it there, or list it as a face`);
}
if (faces.length > mostFaces) findings.push(`more than ${mostFaces} files are listed as faces`);

process.stderr.write(findings.map((finding) => `${finding}\n`).join(''));
process.exitCode = findings.length > 0 ? 1 : 0;
