import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { renderRuleTexts, ruleTexts, siteRuleTexts } from '../../src/exports/rules/verification-rules.ts';

const page = readFileSync('docs/verification.md', 'utf8');
const rows = [...page.matchAll(/^\| `([^`]+)` \| (?:`(\w+)` \| )?[^|]+ \| [^|]+ \|$/gm)];

describe('docs/verification.md', () => {
  it('has a row for every rule, in the order of src/bundle/rules, and no others', () => {
    expect(rows.map(([, rule]) => rule)).toEqual(Object.keys(ruleTexts));
  });

  it('says how a site is judged unless its configuration says otherwise', () => {
    const levels = rows.flatMap(([, rule = '', level]) => (level === undefined ? [] : [[rule, level]]));
    const configurable = Object.entries({ ...siteRuleTexts, ...renderRuleTexts });
    expect(levels).toEqual(configurable.map(([rule, { level }]) => [rule, level]));
  });
});
