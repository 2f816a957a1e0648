import { describe, expect, it } from 'vitest';
import {
  type ChangeLimit,
  type ChangeRuleLimits,
  judgeChange,
  type MeasuredChange,
} from '../../../src/exports/rules/verification-rules.ts';

const before = { version: 'v1', pages: 200, bytes: 1_000_000 };
const same = { before, after: { pages: 200, bytes: 1_000_000 }, removed: 0, changed: 0 };
const ask = (limit: number): ChangeLimit => ({ level: 'ask', limit });

/** The rules by what they do, e.g. `ask pages-removed`. */
function judged(change: Partial<MeasuredChange>, limits: ChangeRuleLimits = {}): string[] {
  const { reasons, asks, warnings } = judgeChange({ ...same, ...change }, limits);
  const named = (level: string, found: typeof reasons) => found.map(({ rule }) => `${level} ${rule}`);
  return [...named('refuse', reasons), ...named('ask', asks), ...named('warn', warnings)];
}

describe('a version beside the one in service', () => {
  it.each<[Partial<MeasuredChange>, ChangeRuleLimits, string[]]>([
    [{}, {}, []],
    // By default everything warns; more than half of the pages gone asks.
    [{ removed: 1 }, {}, ['warn pages-removed']],
    [{ removed: 100 }, {}, ['warn pages-removed']],
    [{ removed: 101 }, {}, ['ask pages-removed']],
    [{ changed: 100 }, {}, []],
    [{ changed: 101 }, {}, ['warn pages-changed']],
    [{ after: { pages: 200, bytes: 1_500_000 } }, {}, []],
    [{ after: { pages: 200, bytes: 1_500_001 } }, {}, ['warn size-changed']],
    [{ after: { pages: 200, bytes: 499_999 } }, {}, ['warn size-changed']],
    [{ after: { pages: 1, bytes: 1_000_000 } }, {}, ['warn too-few-pages']],
    // A limit of its own takes the place of the default, also of the stricter one.
    [{ removed: 20 }, { 'pages-removed': ask(0.1) }, []],
    [{ removed: 21 }, { 'pages-removed': ask(0.1) }, ['ask pages-removed']],
    [{ removed: 200 }, { 'pages-removed': { level: 'warn', limit: 0 } }, ['warn pages-removed']],
    [{ removed: 200 }, { 'pages-removed': { level: 'off', limit: 0 } }, []],
    [{ removed: 1 }, { 'pages-removed': { level: 'refuse', limit: 0 } }, ['refuse pages-removed']],
    [{ changed: 1 }, { 'pages-changed': ask(0) }, ['ask pages-changed']],
    [{ after: { pages: 39, bytes: 1_000_000 } }, { 'too-few-pages': ask(40) }, ['ask too-few-pages']],
    [{ after: { pages: 40, bytes: 1_000_000 } }, { 'too-few-pages': ask(40) }, []],
    // The first version has nothing beside it, but a number of pages.
    [{ before: null, after: { pages: 1, bytes: 9 } }, { 'size-changed': ask(0) }, ['warn too-few-pages']],
    // A site of nothing has become one of something.
    [
      { before: { ...before, pages: 0, bytes: 0 }, after: { pages: 9, bytes: 9 } },
      { 'size-changed': ask(1) },
      ['ask size-changed'],
    ],
  ])('%j with %j: %j', (change, limits, expected) => {
    expect(judged(change, limits)).toEqual(expected);
  });

  it('says how much differs from what', () => {
    const change = { ...same, removed: 120, changed: 1, after: { pages: 80, bytes: 250_000 } };
    const { asks, warnings } = judgeChange(change, { 'pages-changed': ask(0) });
    expect([...asks, ...warnings].map(({ detail }) => detail)).toEqual([
      '120 of 200 pages (60 %) of v1 are gone',
      '1 of 200 pages (under 1 %) of v1 differ',
      '244.1 KiB, v1 has 976.6 KiB (75 % less)',
    ]);
  });
});
