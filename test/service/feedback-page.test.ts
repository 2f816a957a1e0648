import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFeedbackPage } from '../../src/service/client.ts';
import { MalformedResponse } from '../../src/service/errors.ts';
import { arrayElementTexts } from '../../src/service/json-answers.ts';

const base = {
  id: 'fb_1',
  path: '/guides/start',
  comment: 'Ünïcode 😀',
  createdAt: '2026-11-20T10:00:00Z',
  source: 'agent',
  status: 'pending',
};
const none = { helpful: null, contact: null, code: null, filename: null, lang: null };

function pageOf(...entries: unknown[]) {
  return readFeedbackPage(JSON.stringify({ feedback: entries, nextCursor: null, hasMore: false }));
}

function entryOf(entry: unknown) {
  const { entries, rejected } = pageOf(entry);
  expect(rejected).toEqual([]);
  return entries[0];
}

function rejectionOf(entry: unknown) {
  const { entries, rejected } = pageOf(entry);
  expect(entries).toEqual([]);
  return rejected[0];
}

function without(entry: Record<string, unknown>, field: string) {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => name !== field));
}

describe('feedback entry', () => {
  it.each(['agent', 'thumbs_only'])('base variant: id, path, comment, createdAt, source %s, status', (source) => {
    expect(entryOf({ ...base, source })).toEqual({ ...base, source, ...none, extra: {} });
  });

  it('contextual variant: helpful, contact', () => {
    const entry = { ...base, source: 'contextual', helpful: false, contact: 'ada@example.org' };
    expect(entryOf(entry)).toEqual({ ...none, ...entry, extra: {} });
    expect(entryOf({ ...entry, contact: null })).toMatchObject({ contact: null });
  });

  it('code snippet variant: code, filename, lang', () => {
    const entry = { ...base, source: 'code_snippet', code: 'let a;', filename: 'a.ts', lang: 'typescript' };
    expect(entryOf(entry)).toEqual({ ...none, ...entry, extra: {} });
    expect(entryOf({ ...entry, filename: null, lang: null })).toMatchObject({ filename: null, lang: null });
  });

  it('comment and createdAt may be null', () => {
    expect(entryOf({ ...base, comment: null, createdAt: null })).toMatchObject({ comment: null, createdAt: null });
  });

  it('createdAt is kept as sent, whatever its format', () => {
    expect(entryOf({ ...base, createdAt: 'last Tuesday' })).toMatchObject({ createdAt: 'last Tuesday' });
  });

  it.each(['pending', 'in_progress', 'resolved', 'dismissed', 'escalated'])('status %s is kept', (status) => {
    expect(entryOf({ ...base, status })).toMatchObject({ status });
  });

  it('an unknown source is kept, with the fields of any variant', () => {
    expect(entryOf({ ...base, source: 'voice', helpful: true, lang: 'en' })).toEqual({
      ...base,
      ...none,
      source: 'voice',
      helpful: true,
      lang: 'en',
      extra: {},
    });
  });

  it('unknown fields are kept in extra as sent', () => {
    const extra = { rating: 5, tags: ['a'], nested: { deep: null } };
    expect(entryOf({ ...base, ...extra })).toMatchObject({ extra });
    const page = readFeedbackPage(
      `{"feedback":[${JSON.stringify(base).slice(0, -1)},"__proto__":{"x":1}}],"nextCursor":null,"hasMore":false}`,
    );
    expect(Object.entries(page.entries[0]?.extra ?? {})).toEqual([['__proto__', { x: 1 }]]);
  });

  it.each(['comment', 'createdAt'])('a missing %s counts as null', (field) => {
    expect(entryOf(without(base, field))).toMatchObject({ [field]: null });
  });

  it('missing fields of a variant count as null', () => {
    expect(entryOf({ ...base, source: 'contextual' })).toMatchObject(none);
    expect(entryOf({ ...base, source: 'code_snippet' })).toMatchObject(none);
  });

  it('a field of another variant with another type is an unknown field', () => {
    expect(entryOf({ ...base, helpful: 'very', code: 7 })).toEqual({
      ...base,
      ...none,
      extra: { helpful: 'very', code: 7 },
    });
  });

  it.each(['id', 'path', 'source', 'status'])('without %s it is rejected', (field) => {
    expect(rejectionOf(without(base, field))?.reason).toBe(`${field}: missing`);
  });

  it.each([
    ['id', 7, {}],
    ['id', '', {}],
    ['path', null, {}],
    ['comment', { text: 'SECRET' }, {}],
    ['createdAt', 1_763_719_200, {}],
    ['source', ['SECRET'], {}],
    ['status', false, {}],
    ['helpful', 'SECRET', { source: 'contextual' }],
    ['contact', 5, { source: 'contextual' }],
    ['code', ['SECRET'], { source: 'code_snippet' }],
    ['filename', 5, { source: 'code_snippet' }],
    ['lang', true, { source: 'code_snippet' }],
  ])('with %s = %j it is rejected, naming field and type but no content', (field, value, more) => {
    const rejected = rejectionOf({ ...base, ...more, [field]: value });
    expect(rejected?.reason.startsWith(`${field}: `)).toBe(true);
    expect(rejected?.reason).not.toContain('SECRET');
    expect(JSON.parse(rejected?.raw ?? '')).toMatchObject({ [field]: value });
  });

  it.each([null, 'text', 5, [], true])('%j is rejected', (value) => {
    expect(rejectionOf(value)).toMatchObject({
      raw: JSON.stringify(value),
      reason: expect.stringMatching(/^the whole: expected object, got /),
    });
  });

  it('an unknown field keeps numbers that a double cannot hold, as text', () => {
    const sent =
      '{"snow":9007199254740993,"big":-1180591620717411303424,"list":[12345678901234567890,1.5,7],"text":"a \\" 9007199254740993","far":1e30,"fine":9007199254740991,"score":0.12345678901234567890}';
    const text = `{"feedback":[${JSON.stringify(base).slice(0, -1)},${sent.slice(1)}],"nextCursor":null,"hasMore":false}`;
    expect(readFeedbackPage(text).entries[0]?.extra).toEqual({
      snow: '9007199254740993',
      big: '-1180591620717411303424',
      list: ['12345678901234567890', 1.5, 7],
      text: 'a " 9007199254740993',
      far: '1e30',
      fine: 9007199254740991,
      score: 0.12345678901234568,
    });
  });

  it('an id that databases cannot store is kept aside: it would be the id of others too', () => {
    const ids = ['s\ud800', 's\ud801', 's\ufffd', 'n\u0000', 'n\ufffd'];
    const { entries, rejected } = pageOf(...ids.map((id) => ({ ...base, id })));
    expect(entries.map(({ id }) => id)).toEqual(['s\ufffd', 'n\ufffd']);
    expect(new Set(rejected.map(({ id }) => id)).size).toBe(3);
    for (const { id, raw, reason } of rejected) {
      expect(id).toMatch(/^sha256:/);
      expect(JSON.parse(raw)).toMatchObject({ path: base.path });
      expect(reason).toBe('id: U+0000 or half of a surrogate pair, which databases cannot store');
    }
  });

  it('a rejected one has its own id, or a digest of what was sent, and its text exactly as sent', () => {
    expect(rejectionOf({ ...base, path: 5 })?.id).toBe('fb_1');
    const raw = '{ "id": 12345678901234567890, "path":1 }';
    const page = readFeedbackPage(`{"feedback":[ ${raw} ],"nextCursor":null,"hasMore":false}`);
    const digest = createHash('sha256').update(raw).digest('hex').slice(0, 32);
    expect(page.rejected).toEqual([{ id: `sha256:${digest}`, raw, reason: 'id: expected string, got number' }]);
  });
});

describe('an id too long to be a key', () => {
  it('is kept aside under the digest of its entry; the longest that can be is not', () => {
    const longest = '👍'.repeat(256);
    const { entries, rejected } = pageOf({ ...base, id: longest }, { ...base, id: `${longest}!` });
    expect(entries.map(({ id }) => id)).toEqual([longest]);
    expect(rejected).toEqual([
      {
        id: expect.stringMatching(/^sha256:[0-9a-f]{32}$/),
        raw: expect.stringContaining(`${longest}!`),
        reason: 'id: longer than 512 characters',
      },
    ]);
  });
});

describe('feedback response', () => {
  it('is kept aside where a field nests so deep that writing it would overflow the stack', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const page = (levels: number) =>
      readFeedbackPage(`{"feedback":[${JSON.stringify(base).slice(0, -1)},"deep":${nested(levels)}}],"hasMore":false}`);
    expect(page(100)).toMatchObject({
      entries: [],
      rejected: [{ reason: 'an unknown field: nested deeper than 100 levels' }],
    });
    expect(page(100_000).rejected).toHaveLength(1);
    expect(page(50).entries).toHaveLength(1);
  });

  it('one bad entry leaves the others alone', () => {
    const { entries, rejected } = pageOf(base, { ...base, id: 5 }, { ...base, id: 'fb_3' });
    expect(entries.map(({ id }) => id)).toEqual(['fb_1', 'fb_3']);
    expect(rejected).toHaveLength(1);
  });

  it('feedback may be empty; nextCursor and hasMore are passed on', () => {
    expect(readFeedbackPage('{"feedback":[],"nextCursor":"c1","hasMore":true,"total":9}')).toEqual({
      entries: [],
      rejected: [],
      nextCursor: 'c1',
      hasMore: true,
    });
  });

  it('an empty or missing nextCursor leads nowhere', () => {
    expect(readFeedbackPage('{"feedback":[],"nextCursor":"","hasMore":true}').nextCursor).toBeNull();
    expect(readFeedbackPage('{"feedback":[],"hasMore":false}')).toMatchObject({ nextCursor: null, hasMore: false });
  });

  it.each([
    ['feedback', '{"nextCursor":null,"hasMore":false}'],
    ['feedback', '{"feedback":{},"nextCursor":null,"hasMore":false}'],
    ['nextCursor', '{"feedback":[],"nextCursor":5,"hasMore":false}'],
    ['hasMore', '{"feedback":[],"nextCursor":null}'],
    ['hasMore', '{"feedback":[],"nextCursor":null,"hasMore":"no"}'],
    ['the whole', '[]'],
    ['the whole', 'null'],
  ])('a missing or mistyped %s makes the page malformed: %s', (field, text) => {
    expect(() => readFeedbackPage(text)).toThrow(MalformedResponse);
    expect(() => readFeedbackPage(text)).toThrow(`malformed: ${field}: `);
  });

  it.each(['', '<html>SECRET</html>', '{"feedback":[{"comment":"SECRET'])(
    'is malformed when it is no JSON: %j',
    (text) => {
      expect(() => readFeedbackPage(text)).toThrow(MalformedResponse);
      expect(() => readFeedbackPage(text)).not.toThrow(/SECRET/);
    },
  );
});

describe('arrayElementTexts', () => {
  it('returns every element as it was sent', () => {
    const text =
      '{ "a": [9], "feedback" : [ 12345678901234567890 , {"id": "x]\\"}", "b":[ ]},"," , [[]], null ] , "z": {"feedback": [1]} }';
    expect(arrayElementTexts(text, 'feedback')).toEqual([
      '12345678901234567890',
      '{"id": "x]\\"}", "b":[ ]}',
      '","',
      '[[]]',
      'null',
    ]);
  });

  it('is null where there is no such array', () => {
    expect(arrayElementTexts('{"feedback":{}}', 'feedback')).toBeNull();
    expect(arrayElementTexts('{}', 'feedback')).toBeNull();
    expect(arrayElementTexts('[1]', 'feedback')).toBeNull();
  });

  it('takes the last of several, as JSON.parse does', () => {
    expect(arrayElementTexts('{"feedback":[1],"\\u0066eedback":[2]}', 'feedback')).toEqual(['2']);
  });

  it('agrees with JSON.parse for any JSON', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.jsonValue(),
        fc.constantFrom(undefined, 1, '\t'),
        (list, other, space) => {
          const text = JSON.stringify({ before: other, feedback: list, after: other }, null, space);
          const elements = arrayElementTexts(text, 'feedback') ?? [];
          expect(elements.map((element) => JSON.parse(element))).toEqual(JSON.parse(JSON.stringify(list)));
        },
      ),
    );
  });
});
