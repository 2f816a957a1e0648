import { describe, expect, it } from 'vitest';
import { structureRuleTexts } from '../../../src/exports/rules/verification-rules.ts';
import { outcomeOf } from '../../tools/archives/outcome-of.ts';
import { refusedArchives } from '../../tools/archives/refusals.ts';

/** Not a matter of the bytes; shown in verify-in-thread.test.ts. */
const shownElsewhere = ['memory-limit'];

describe('each rule about structure', () => {
  it.each(refusedArchives.map((refusal) => [refusal.rule, refusal.shows, refusal] as const))(
    '%s: %s',
    async (rule, _shows, refusal) => {
      expect(await outcomeOf(refusal)).toBe(rule);
    },
  );

  it('is shown by an archive', () => {
    const shown = new Set<string>(refusedArchives.map(({ rule }) => rule));
    expect(Object.keys(structureRuleTexts).filter((rule) => !shown.has(rule))).toEqual(shownElsewhere);
  });
});
