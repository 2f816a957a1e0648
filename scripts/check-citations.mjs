/**
 * What comments, tests and pages cite must stand in this repository: promises in docs/promises.md, pages and decisions in
 * docs. Also checks that workflows import only types of activities. Part of `npm run lint`; prints each finding as
 * `file:line: text`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(ts|mjs|cjs|md|ya?ml|json|sh)$|^\.ci\/|Dockerfile$/.test(file) && existsSync(file))
  .filter((file) => file !== 'package-lock.json' && !/^test\/(histories|lint)\//.test(file));
const read = (file) => readFileSync(file, 'utf8');
const findings = [];
const find = (file, line, text) => findings.push(`${file}:${line}: ${text}`);

const pages = new Set(files.filter((file) => file.endsWith('.md')).map((file) => basename(file)));
const decisions = readdirSync('docs/decisions').map((name) => name.slice(0, 4));
/** The page defines each promise at the beginning of a row, an item or a heading. */
const definition = /^(?:\||-|#+)? *\**([BSEX]\d{1,2})\b/gm;
const promises = new Set([...read('docs/promises.md').matchAll(definition)].map(([, id]) => id));

/** `(B1)`, `(S2, S3)`, `(E1 to E6, contracts.md)`: ids that come first in brackets. */
const bracketed = /\(((?:[BSEX]\d{1,2}(?:, | to | and | or )?)+)(?=[ ,;:)])/g;

for (const file of files) {
  const code = /\.(ts|mjs)$/.test(file);
  read(file)
    .split('\n')
    .forEach((text, index) => {
      const line = index + 1;
      if (code || file.startsWith('docs/')) {
        for (const [, ids] of text.matchAll(bracketed)) {
          for (const [id] of ids.matchAll(/[BSEX]\d{1,2}/g)) {
            if (!promises.has(id)) find(file, line, `docs/promises.md has no promise ${id}`);
          }
        }
      }
      const comment = code && /^\s*(\/?\*|\/\/)|\/\/ /.test(text);
      if (!comment) return;
      for (const [, page] of text.matchAll(/\b([a-z][a-z-]+\.md)\b/g)) {
        if (!pages.has(page)) find(file, line, `there is no page ${page}`);
      }
      for (const [, decision] of text.matchAll(/\bdecisions?\/? ?(\d{4})\b/g)) {
        if (!decisions.includes(decision)) find(file, line, `there is no decision ${decision}`);
      }
    });
}

const sources = files.filter((file) => /^src\/.*\.ts$/.test(file));
for (const file of sources.filter((name) => name.startsWith('src/workflows/'))) {
  for (const [statement] of read(file).matchAll(/^import (?!type\b)[^;]*\/activities\/[^;]*;/gm)) {
    find(file, 1, `takes more than types of activities: ${statement}`);
  }
}

process.stderr.write(findings.map((finding) => `${finding}\n`).join(''));
process.exitCode = findings.length > 0 ? 1 : 0;
