import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/bundle/readers/byte-file.ts';
import { STRUCTURE_RULES } from '../../src/bundle/structure-rules.ts';
import { verifyBytes } from '../../src/bundle/verify-archive.ts';
import { REFUSALS } from './refusals.ts';

const LIMITS = { maxBytes: 10_000_000, maxFiles: 100, maxRatio: 200 };
/** Not a matter of the bytes; shown in verify-in-thread.test.ts. */
const SHOWN_ELSEWHERE = ['memory-limit'];

describe('each rule about structure', () => {
  it.each(REFUSALS.map((refusal) => [refusal.rule, refusal.shows, refusal] as const))(
    '%s: %s',
    async (rule, _shows, { archive, limits, timeLimitMs }) => {
      const report = await verifyBytes(bytesInMemory(archive), {
        limits: { ...LIMITS, ...limits },
        structureOnly: true,
        ...(timeLimitMs !== undefined && { timeLimitMs }),
      });
      expect(report.reasons.map((reason) => reason.rule)).toEqual([rule]);
      expect(report.ok).toBe(false);
    },
  );

  it('is shown by an archive', () => {
    const shown = new Set<string>(REFUSALS.map(({ rule }) => rule));
    expect(Object.keys(STRUCTURE_RULES).filter((rule) => !shown.has(rule))).toEqual(SHOWN_ELSEWHERE);
  });
});
