import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../scripts/docs/bad-input-page.ts';
import { STRUCTURE_RULES } from '../../../src/bundle/rules/structure-rules.ts';
import { REFUSALS } from '../../tools/archives/refusals.ts';

/** Not a matter of the bytes; shown in verify-in-thread.test.ts. */
const SHOWN_ELSEWHERE = ['memory-limit'];

describe('each rule about structure', () => {
  it.each(REFUSALS.map((refusal) => [refusal.rule, refusal.shows, refusal] as const))(
    '%s: %s',
    async (rule, _shows, refusal) => {
      expect(await outcomeOf(refusal)).toBe(rule);
    },
  );

  it('is shown by an archive', () => {
    const shown = new Set<string>(REFUSALS.map(({ rule }) => rule));
    expect(Object.keys(STRUCTURE_RULES).filter((rule) => !shown.has(rule))).toEqual(SHOWN_ELSEWHERE);
  });
});
