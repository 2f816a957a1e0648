import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ruleTexts } from '../../src/exports/rules/verification-rules.ts';
import { refusedArchives } from '../tools/archives/refusals.ts';

interface Row {
  /** `Z5` */
  id: string;
  shownBy: string;
}

const rows = [...readFileSync('docs/bad-input.md', 'utf8').matchAll(/^- ([A-Z]\d) .+?: ([`[].*)$/gm)].map(
  ([, id = '', shownBy = '']): Row => ({ id, shownBy }),
);
const rules = rows.flatMap(({ id, shownBy }) => [...shownBy.matchAll(/`([^`]+)`/g)].map(([, rule = '']) => [id, rule]));

/** Case and rule of every archive that names a case: `(Z5)`, `(Z6 polyglot)`. */
const archives = refusedArchives.flatMap(({ rule, shows }) => {
  const [, id] = /\(([A-Z]\d)\b/.exec(shows) ?? [];
  return id === undefined ? [] : [`${id} ${rule}`];
});

describe('docs/bad-input.md', () => {
  it('shows every input by a rule or a test', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter(({ shownBy }) => !/`|\.test\.ts/.test(shownBy))).toEqual([]);
  });

  it('has an archive for every rule it names, and a row for every archive that names a case', () => {
    expect(rules.filter(([, rule = '']) => !(rule in ruleTexts))).toEqual([]);
    expect(new Set(rules.map((pair) => pair.join(' ')))).toEqual(new Set(archives));
  });
});
