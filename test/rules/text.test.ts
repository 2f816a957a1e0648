import { describe, expect, it } from 'vitest';
import { counted, factsTable, naturalOrder, sizeText, summaryText } from '../../src/rules/text.ts';

describe('summaryText', () => {
  it.each(['poll 1 of job-1', 'é'.repeat(90), '失'.repeat(60), '👍'.repeat(45)])('leaves what fits: %s', (text) => {
    expect(summaryText(text)).toBe(text);
  });

  it('cuts after 180 bytes, and no character in half', () => {
    expect(summaryText('x'.repeat(181))).toBe('x'.repeat(180));
    expect(summaryText(`x${'é'.repeat(90)}`)).toBe(`x${'é'.repeat(89)}`);
    expect(summaryText(`x${'失'.repeat(60)}`)).toBe(`x${'失'.repeat(59)}`);
    expect(summaryText(`x${'👍'.repeat(45)}`)).toBe(`x${'👍'.repeat(44)}`);
  });
});

it('no control character reaches the Temporal UI', () => {
  const foreign = 'a\u001b[2Jb\u0007c\u009bd\u202ee';
  for (const text of [summaryText(foreign), factsTable([['status', foreign]])]) {
    expect(text.match(/[^\P{Cc}\n]|\u202e/gu)).toBeNull();
  }
});

describe('the natural order of names', () => {
  it('counts, and does not depend on the order before', () => {
    const names = ['docs.acme.example', 'docs1.acme.example', 'docs2.acme.example', 'docs10.acme.example'];
    expect([...names].reverse().sort(naturalOrder)).toEqual(names);
    expect(['b', 'B', 'a', 'A10', 'A9'].sort(naturalOrder)).toEqual(['a', 'A9', 'A10', 'b', 'B']);
  });

  it('tells apart what a collator takes for equal', () => {
    expect([naturalOrder('docs01', 'docs1'), naturalOrder('docs1', 'docs01')].map(Math.sign).sort()).toEqual([-1, 1]);
    expect(naturalOrder('docs1', 'docs1')).toBe(0);
  });
});

describe('numbers for people', () => {
  it.each([
    [0, '0 entries'],
    [1, '1 entry'],
    [1204, '1,204 entries'],
    [1_234_567, '1,234,567 entries'],
  ])('%i is counted', (count, text) => {
    expect(counted(count, 'entry', 'entries')).toBe(text);
  });

  it.each([
    [0, '0 B'],
    [0.4, '1 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [12_902_400, '12.3 MiB'],
  ])('%s bytes are a size', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });
});
