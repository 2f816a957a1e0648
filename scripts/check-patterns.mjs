/**
 * Every regular expression of src and sandbox takes time in proportion to the text, even a hostile one. Part of
 * `npm run lint`; prints each finding as `file:line: text`. The user's cache folder remembers what has been checked once:
 * some patterns take seconds.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseSync } from '@swc/core';
import envPaths from 'env-paths';
import { check } from 'recheck';

/** Files whose patterns `recheck` cannot read (flag `v`): runs of one class each. test/growth.slow.test.ts times them. */
const unread = ['src/feedback/search/search-words.ts'];

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src', 'sandbox'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.tsx?$/.test(file) && existsSync(file));
const findings = [];
/** By `/pattern/flags`, where it stands. */
const patterns = new Map();

for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const tree = parseSync(text, { syntax: 'typescript', tsx: file.endsWith('x') });
  const place = (needle) => `${file}:${text.slice(0, text.indexOf(needle)).split('\n').length}`;
  const visit = (node) => {
    if (typeof node !== 'object' || node === null) return;
    if (node.type === 'RegExpLiteral') {
      const literal = `/${node.pattern}/${node.flags}`;
      patterns.set(literal, { ...node, place: patterns.get(literal)?.place ?? place(literal) });
    } else if (/^(New|Call)Expression$/.test(node.type) && node.callee.value === 'RegExp' && !unread.includes(file)) {
      findings.push(`${place('RegExp(')}: write the pattern as a literal, which can be checked`);
    }
    Object.values(node).forEach(visit);
  };
  visit(tree);
}

const cache = join(envPaths('docferry', { suffix: '' }).cache, 'safe-patterns.json');
const safe = new Set(existsSync(cache) ? JSON.parse(readFileSync(cache, 'utf8')) : []);
const open = [...patterns].filter(([literal]) => !safe.has(literal));
// By what a pattern reads, never by the time that a busy machine takes.
const limits = { timeout: 300_000, attackTimeout: null, incubationTimeout: null };
const work = async () => {
  for (let next = open.pop(); next; next = open.pop()) {
    const [literal, { pattern, flags, place }] = next;
    const { status, complexity, error, attack } = await check(pattern, flags, limits);
    if (status === 'safe') safe.add(literal);
    else {
      const why = attack ? `${complexity.summary}, by ${attack.pattern}` : `not known: ${error?.kind}`;
      findings.push(`${place}: ${literal} takes more time than in proportion to the text (${why})`);
    }
  }
};
await Promise.all(Array.from({ length: availableParallelism() }, work));
mkdirSync(dirname(cache), { recursive: true });
writeFileSync(cache, JSON.stringify([...safe]));

process.stderr.write(findings.map((finding) => `${finding}\n`).join(''));
process.exitCode = findings.length > 0 ? 1 : 0;
