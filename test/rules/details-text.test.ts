import { describe, expect, it } from 'vitest';
import { factsTable, summaryText } from '../../src/rules/text.ts';

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
