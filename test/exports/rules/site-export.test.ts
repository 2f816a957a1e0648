import { describe, expect, it } from 'vitest';
import {
  allReasons,
  type ContentChanges,
  changesMarkdown,
  changesText,
  fewReasons,
  type Transfer,
  transferFacts,
  transferPercent,
  versionName,
  versionTime,
  whyEnded,
} from '../../../src/exports/rules/site-export.ts';

const none = { added: 0, removed: 0, changed: 0, moved: 0 };
const nothing: ContentChanges = {
  against: 'v1',
  pages: none,
  others: none,
  listed: { added: [], removed: [], changed: [], moved: [] },
};

describe('fewReasons', () => {
  const reasons = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ rule: `r${n}`, path: null, detail: 'x' }));
  const unlisted = (count: number) => ({ rule: 'more-reasons', path: null, detail: `${count} more not listed` });

  it('leaves out what is too much, and says how many: also those that the list has left out already', () => {
    expect(fewReasons(reasons(10), 10)).toEqual(reasons(10));
    expect(fewReasons(reasons(12), 10)).toEqual([...reasons(9), unlisted(3)]);
    const few = fewReasons([...reasons(20), unlisted(1_214)], 10);
    expect(few).toEqual([...reasons(9), unlisted(1_225)]);
    expect(whyEnded({ reasons: few })).toBe('r0: x, and 1,233 more');
  });
});

describe('changesText', () => {
  it.each([
    [{}, 'no page differs'],
    [{ pages: { ...none, added: 3, removed: 1, changed: 12 } }, 'pages: 3 added, 1 removed, 12 changed'],
    [{ pages: { ...none, changed: 1 }, others: { ...none, added: 1 } }, 'pages: 1 changed; 1 other file'],
    [{ others: { added: 2, removed: 1, changed: 1, moved: 1 } }, 'no page differs; 5 other files'],
    [{ against: null, pages: { ...none, added: 40 } }, '40 pages, the first version'],
  ])('%j: %s', (changes, text) => {
    expect(changesText({ ...nothing, ...changes })).toBe(text);
  });
});

describe('changesMarkdown', () => {
  it('lists paths by kind, and how many more there are', () => {
    const text = changesMarkdown({
      ...nothing,
      pages: { ...none, added: 3, changed: 1, moved: 2 },
      listed: { added: ['a.html', 'b.html'], removed: [], changed: ['c.html'], moved: ['d.html', 'e.html'] },
    });
    expect(text).toContain('| pages | 3 added, 0 removed, 1 changed, 2 moved |');
    expect(text).toContain('Pages added:\n\n- `a.html`\n- `b.html`\n- and 1 more');
    expect(text).toContain('Pages changed:\n\n- `c.html`');
    expect(text).toContain('Pages moved:\n\n- `d.html`\n- `e.html`');
    expect(text).not.toContain('Pages removed');
  });

  it('does not let a path out of its code span', () => {
    const path = '`](https://evil.example)`<img src=x>.html';
    const text = changesMarkdown({ ...nothing, listed: { ...nothing.listed, added: [path] } });
    expect(text).toContain("- `'](https://evil.example)'<img src=x>.html`");
  });
});

const transfer: Transfer = {
  offset: 450_900_000,
  total: 1_234_000_000,
  bytesPerSecond: 12_340_000,
  at: Date.UTC(2026, 10, 21, 4, 0, 0),
};

describe('how far a download is', () => {
  it('is told by size, speed and time left', () => {
    expect(transferFacts(transfer)).toEqual(['430.0 MiB of 1.1 GiB', '11.8 MiB/s', '1 min 3 s left']);
    expect(transferPercent(transfer)).toBeCloseTo(36.54, 2);
  });

  it('is told as far as it is known', () => {
    expect(transferFacts({ ...transfer, total: null })).toEqual(['430.0 MiB', '11.8 MiB/s']);
    expect(transferFacts({ ...transfer, bytesPerSecond: null })).toEqual(['430.0 MiB of 1.1 GiB']);
    expect(transferPercent({ ...transfer, total: null })).toBeNull();
    expect(transferPercent({ ...transfer, total: 0 })).toBeNull();
  });

  it('does not promise more than the whole of a length that was announced too small', () => {
    const beyond = { ...transfer, total: 400_000_000 };
    expect(transferPercent(beyond)).toBe(100);
    expect(transferFacts(beyond)).toContain('0 s left');
  });
});

const someDigest = '3f9a2c1b8e7d'.padEnd(64, '0');

describe('versionName', () => {
  it('is the UTC second and the first 12 hex digits of the content digest', () => {
    expect(versionName(Date.UTC(2026, 10, 21, 4, 2, 0, 987), someDigest)).toBe('20261121T040200Z-3f9a2c1b8e7d');
  });

  it('sorts by time', () => {
    const later = versionName(Date.UTC(2027, 0, 1), '0'.repeat(64));
    const earlier = versionName(Date.UTC(2026, 11, 31, 23, 59, 59), 'f'.repeat(64));
    expect([later, earlier].sort()).toEqual([earlier, later]);
  });

  it.each(['', '3f9a2c1b8e7d', 'F'.repeat(64), `../${'0'.repeat(61)}`])('refuses %j as a digest', (digest) => {
    expect(() => versionName(0, digest)).toThrow(RangeError);
  });
});

describe('versionTime', () => {
  it('reads the moment back to the second', () => {
    expect(versionTime(versionName(Date.UTC(2026, 10, 21, 4, 2, 9, 987), someDigest))).toBe('2026-11-21T04:02:09.000Z');
  });

  it.each(['v1', '20261121T040200Z-XYZ', '20261399T990000Z-3f9a2c1b8e7d'])('is null for %j', (name) => {
    expect(versionTime(name)).toBeNull();
  });
});

it('names every reason of an end that has several', () => {
  const reasons = [
    { rule: 'secret-file', path: '.env', detail: 'x' },
    { rule: 'no-index', path: null, detail: 'y' },
  ];
  expect(allReasons({ reasons })).toEqual(['secret-file (.env): x', 'no-index: y']);
  const rollouts = ['a', 'b'].map((target) => ({ target, outcome: 'failed', detail: 'no' }));
  expect(allReasons({ rollouts })).toEqual(['a: no', 'b: no']);
  expect(allReasons({ reasons: reasons.slice(0, 1) })).toEqual([]);
});
