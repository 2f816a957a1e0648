import { describe, expect, it } from 'vitest';
import { checkPath, foldPath } from '../../../src/exports/archive/check-entry.ts';
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

describe('folding a path', () => {
  it('gives the same for a character, its lower case and its upper case', () => {
    const different: string[] = [];
    for (let code = 0x20; code < 0x20000; code += 1) {
      const character = String.fromCodePoint(code);
      if (/\p{Surrogate}/u.test(character)) continue;
      const folded = new Set([character, character.toLowerCase(), character.toUpperCase()].map(foldPath));
      if (folded.size > 1) different.push(code.toString(16));
    }
    expect(different).toEqual([]);
  });

  it.each([
    ['stra\u00dfe', 'STRASSE'],
    ['stra\u1e9ee', 'stra\u00dfe'],
    ['\ufb01', 'FI'],
    ['\u212a', 'k'],
    ['\u03c3', '\u03c2'],
    ['caf\u00e9', 'CAFE\u0301'],
    ['a\u200db', 'AB'],
  ])('takes %s and %s for one', (one, other) => {
    expect(foldPath(one)).toBe(foldPath(other));
  });

  it.each([
    ['a', 'b'],
    ['\u00fc', 'u'],
    ['\u00df', 's'],
  ])('keeps %s and %s apart', (one, other) => {
    expect(foldPath(one)).not.toBe(foldPath(other));
  });
});

describe('a name', () => {
  it.each([
    'index.html',
    'a;b.html',
    'a;1.html',
    '.well-known/x',
    '..a',
    'a..b',
    '-rf',
    'console.html',
    "it's.html",
    '\u2764\ufe0f.html',
    'con a.html',
  ])('%s is accepted', (name) => {
    expect(checkPath(name, false)).toEqual({ path: name });
  });

  it('loses one leading "./", and a folder its last slash', () => {
    expect(checkPath('./a.html', false)).toEqual({ path: 'a.html' });
    expect(checkPath('./a/', true)).toEqual({ path: 'a' });
    expect(checkPath('./', true)).toEqual({ path: '' });
  });

  it.each([
    ['./../x', 'path-traversal'],
    ['.//x', 'empty-segment'],
    ['./C:x', 'drive-letter'],
    ['a;12', 'version-suffix'],
  ])('%s is refused with %s', (name, rule) => {
    expect(checkPath(name, false)).toMatchObject({ rule });
  });
});
