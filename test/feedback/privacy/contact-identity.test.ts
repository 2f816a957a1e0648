import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  furtherNames,
  identitiesIn,
  identityOf,
  mentionsOneOf,
  namesOfReject,
  stringsIn,
} from '../../../src/feedback/privacy/personal-data.ts';

describe('identityOf', () => {
  it.each([
    ['jane@mail.example', 'jane@mail.example'],
    [' Jane@MAIL.example\n', 'jane@mail.example'],
    ['mailto:jane@mail.example', 'jane@mail.example'],
    ['Jane Doe <jane@mail.example>', 'jane@mail.example'],
    ['<mailto:jane@mail.example>', 'jane@mail.example'],
    ['+49 30 901820', '+49 30 901820'],
    ['', ''],
  ])('of %j is %j', (contact, name) => {
    expect(identityOf(contact)).toBe(name);
  });
});

describe('identitiesIn', () => {
  it.each([
    ['Mail jane@mail.example.', 'jane@mail.example'],
    ['("Jane" <Jane@Mail.Example>)', 'jane@mail.example'],
    ['https://a.example/?from=jane@mail.example&x=1', 'jane@mail.example'],
    ['/docs?from=jane%2Bdocs%40mail.example', 'jane+docs@mail.example'],
    ['連絡先はjane@mail.exampleです。', 'jane@mail.example'],
    ['jörg@büro.example', 'jörg@büro.example'],
    ["o'brien@mail.example", "o'brien@mail.example"],
    ["'jane@mail.example'", 'jane@mail.example'],
    ['a@b.example,jane@mail.example', 'jane@mail.example'],
  ])('of %j has %j', (text, name) => {
    expect([...identitiesIn(text)]).toContain(name);
  });

  it.each(['not.jane@mail.example', 'jane@mail.example.org', 'jane@sub.mail.example', 'jane @mail.example', '@', 'a@'])(
    'of %j has no jane@mail.example',
    (text) => {
      expect([...identitiesIn(text)]).not.toContain('jane@mail.example');
    },
  );

  it('finds an address in any text that blanks or brackets set apart', () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,20}$/);
    const around = fc.constantFrom(' ', '\n', '<', '>', '(', ')', '"', ',', ';', ':', '');
    fc.assert(
      fc.property(part, part, fc.string(), fc.string(), around, around, (local, host, before, after, open, close) => {
        const text = `${before} ${open}${local}@${host}.example${close} ${after}`;
        expect([...identitiesIn(text)]).toContain(`${local}@${host}.example`);
      }),
    );
  });

  it('stays with a bounded number of names in a text made to have many', () => {
    const hostile = `${'!'.repeat(64)}@a`.repeat(20_000);
    const names = [...namesOfReject({ id: 'r', raw: hostile })];
    expect(names).toHaveLength(2_001);
    expect(names.at(-1)).toBe(furtherNames);
  });
});

describe('mentionsOneOf', () => {
  const jane = new Set(['jane@mail.example']);
  const lockFile = Array.from({ length: 1_100 }, (_, n) => `package-${n}@1.2.3`).join('\n');

  it.each([
    'Jane@Mail.Example',
    'Mail jane@mail.example.',
    '?from=jane@mail.example&x=1',
    '?from=jane%40mail.example',
    '連絡先はjane@mail.exampleです。',
    'not.jane@mail.example, jane@mail.example',
  ])('finds her in %j, also after a thousand others', (text) => {
    expect(mentionsOneOf(text, jane)).toBe(true);
    expect(mentionsOneOf(`${lockFile}\n${text}`, jane)).toBe(true);
  });

  it.each([
    'not.jane@mail.example',
    'jane@mail.example.org',
    'jane@mail.example-2.org',
    'jane@sub.mail.example',
    'jane',
    '',
  ])('takes %j for another person', (text) => {
    expect(mentionsOneOf(`${lockFile}\n${text}`, jane)).toBe(false);
  });

  it('looks for no contact that is no address', () => {
    expect(mentionsOneOf('@janedoe and jane@', new Set(['@janedoe', 'jane@', 'jane', '']))).toBe(false);
  });

  it('finds what identitiesIn finds', () => {
    const piece = fc.constantFrom('jane', 'mail', 'ä', '@', '.', '-', '+', '!', '=', '%40', '%2B', ' ', '<', 'X', 'Ü');
    const texts = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        for (const name of identitiesIn(text)) expect(mentionsOneOf(text, new Set([name]))).toBe(true);
      }),
    );
  });

  it('takes time in proportion to the text', () => {
    const timeFor = (repeats: number) => {
      const hostile = `${'jane@mail.example'.repeat(repeats)}${'.'.repeat(10 * repeats)}x`;
      const times = Array.from({ length: 3 }, () => {
        // Of the processor: beside other programs the clock on the wall tells nothing.
        const start = process.cpuUsage();
        expect(mentionsOneOf(hostile, jane)).toBe(false);
        return process.cpuUsage(start).user;
      });
      return Math.min(...times);
    };
    // Eight times the text: eight times the time where that is linear, sixty-four where it is quadratic. In microseconds;
    // the processor's clock tells less than some milliseconds apart from nothing.
    const long = timeFor(40_000);
    if (long > 5_000) expect(long / Math.max(timeFor(5_000), 500)).toBeLessThan(30);
  });
});

describe('stringsIn', () => {
  it('has all texts and keys of a value, however deep', () => {
    const deep = Array.from({ length: 50_000 }).reduce<unknown>((inner) => [inner], 'bottom');
    expect([...stringsIn(deep)]).toEqual(['bottom']);
    expect([...stringsIn({ a: [{ b: 'c' }, 1, null, true], d: 'e' })].sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
