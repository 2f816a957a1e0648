import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { badCases, isRule } from '../../scripts/docs/bad-input-page.ts';
import { namedTest } from '../../scripts/docs/interface-page.ts';
import { refusedArchives } from '../tools/archives/refusals.ts';
import { testNames } from './test-names.ts';

const inputs = badCases.flatMap(({ id, inputs: all }) => all.map(([says, ...shownBy]) => ({ id, says, shownBy })));
const ids = ['Z1', 'Z2', 'Z3', 'Z4', 'Z5', 'Z6', 'Z7', 'Z8', 'T1', 'H1', 'H2', 'H3', 'H4'];
const more = ['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'C1'];

/** Archives that break the rule and name the case: `(Z5)`, `(Z6 polyglot)`. */
function archivesOf(id: string, rule: string) {
  return refusedArchives.filter((refusal) => refusal.rule === rule && new RegExp(`\\(${id}\\b`).test(refusal.shows));
}

function exists(test: string): boolean {
  const { file, name } = namedTest(test);
  return existsSync(file) && testNames(readFileSync(file, 'utf8')).includes(name);
}

describe('docs/bad-input.md', () => {
  it('has every case', () => {
    expect(badCases.map(({ id }) => id)).toEqual([...ids, ...more]);
    expect(inputs.filter(({ says, shownBy }) => !says || shownBy.length === 0)).toEqual([]);
  });

  it('shows each by archives that name the case, or by tests that exist', () => {
    const lacking = inputs.flatMap(({ id, shownBy }) =>
      shownBy
        .filter((text) => !(isRule(text) ? archivesOf(id, text).length > 0 : exists(text)))
        .map((text) => `${id}: ${text}`),
    );
    expect(lacking).toEqual([]);
  });

  it('has every archive that names a case', () => {
    const named = refusedArchives.flatMap(({ rule, shows }) => {
      const [, id] = /\(([A-Z]\d)\b/.exec(shows) ?? [];
      return id === undefined ? [] : [`${id} ${rule}`];
    });
    const listed = new Set(inputs.flatMap(({ id, shownBy }) => shownBy.map((text) => `${id} ${text}`)));
    expect([...new Set(named)].filter((text) => !listed.has(text))).toEqual([]);
  });
});
