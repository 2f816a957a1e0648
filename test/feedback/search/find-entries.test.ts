import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import { lastWeeks } from '../../../src/feedback/rules/report-figures.ts';
import type { EntrySelection } from '../../../src/feedback/search/feedback-search.ts';
import { marksIn } from '../../../src/feedback/search/find-entries.ts';
import { searchPhrases } from '../../../src/feedback/search/search-words.ts';
import {
  begin,
  entry,
  page,
  type TemporaryStore,
  temporaryStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

const corpus: Record<string, Partial<FeedbackEntry>> = {
  english: { comment: 'The "second" example fails NEAR the end; it doesn\'t work.' },
  german: { comment: 'Die Größe der Tabelle für Österreich stimmt nicht, Straße auch nicht.' },
  chinese: { comment: '找不到页面，搜索结果不正确。' },
  japanese: { comment: '検索結果のページが見つかりません。ｶﾞｲﾄﾞの例が欲しいです。' },
  korean: { comment: '검색을 했지만 결과가 없습니다.' },
  thai: { comment: 'ไม่พบหน้าเอกสาร' },
  code: { comment: null, code: "const a = foo_bar(x->y); // v2.1 SELECT * FROM 'pages'" },
  emoji: { comment: 'Very helpful 👍🏽, thank you! 🇩🇪' },
  accents: { comment: 'Le résumé est confus; e\u0301te\u0301 İstanbul ΟΔΟΣ' },
  zero: { comment: 'before\u0000after lone \uD800 surrogate' },
  both: { comment: 'ends with one', code: 'two begins' },
  long: { comment: `${'filler '.repeat(9_000)}needle ${'same '.repeat(400)}last` },
};

/** What each search finds, in any order. */
const searches: Record<string, string[]> = {
  second: ['english'],
  '"second example"': ['english'],
  '"example second"': [],
  'example SECOND': ['english'],
  NEAR: ['english'],
  'second NEAR end': ['english'],
  'second OR example': [],
  "doesn't": ['english'],
  exam: [],
  'exam*': ['english'],
  '"second exam"*': ['english'],
  '* second': ['english'],
  größe: ['german'],
  GROESSE: [],
  grosse: ['german'],
  strasse: ['german'],
  osterreich: ['german'],
  搜索: ['chinese'],
  结果: ['chinese'],
  結果: ['japanese'],
  果: ['chinese', 'japanese'],
  搜果: [],
  検索結果: ['japanese'],
  ガイド: ['japanese'],
  ません: ['japanese'],
  '検索 ページ': ['japanese'],
  검색: ['korean'],
  결과: ['korean'],
  เอกสาร: ['thai'],
  'foo_bar()': ['code'],
  'foo bar': ['code'],
  bar_foo: [],
  'v2.1': ['code'],
  'SELECT * FROM': ['code'],
  'x->y': ['code'],
  '👍': ['emoji'],
  '👎': [],
  '🇩🇪': ['emoji'],
  resume: ['accents'],
  été: ['accents'],
  istanbul: ['accents'],
  οδος: ['accents'],
  after: ['zero'],
  'lone surrogate': ['zero'],
  'one two': ['both'],
  '"one two"': [],
  needle: ['long'],
  '"needle same"': ['long'],
  last: ['long'],
  'words : second': [],
  '=p': [],
  "'); drop table feedback; --": [],
  '\\ second': ['english'],
  '^second +example': ['english'],
};

async function stored(entries = Object.entries(corpus)): Promise<TemporaryStore> {
  const db = await temporaryStore();
  await wholePass(
    db.store,
    'p',
    entries.map(([id, over]) => entry(id, over)),
  );
  return db;
}

async function idsOf({ store }: TemporaryStore, selection: EntrySelection): Promise<string[]> {
  const { entries, total } = await store.findEntries({ ...selection, limit: 200 });
  expect(total).toEqual({ count: entries.length, isExact: true });
  return entries.map(({ id }) => id).sort();
}

describe('a search', () => {
  it('finds the same in every language and with every sign, on both databases', async () => {
    await using db = await stored();
    const found: Record<string, string[]> = {};
    for (const words of Object.keys(searches))
      found[words] = await idsOf(db, { words }).catch((error) => [String(error)]);
    expect(found).toEqual(searches);
  });

  it('marks nothing past the words that are in the index', () => {
    const text = `needle ${'filler '.repeat(16_000)}needle`;
    expect(marksIn(text, searchPhrases('needle'))).toEqual([[0, 6]]);
  });

  it('finds exactly what has the phrases, whatever the texts are', async () => {
    const word = fc.constantFrom(
      'a',
      'ab',
      'Ä',
      'ss',
      'ß',
      '検',
      '索',
      '検索',
      '果',
      '👍',
      '1',
      '_',
      '"',
      '*',
      "'",
      ':',
      '\\',
      ' ',
      '가',
      'é',
    );
    const text = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(''));
    await using db = await temporaryStore();
    let pass = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 6 }), text, async (texts, words) => {
        pass += 1;
        await wholePass(db.store, `p${pass}`, [
          ...texts.map((comment, n) => entry(`${n}`, { comment })),
          ...Array.from({ length: 6 - texts.length }, (_, n) => entry(`${n + texts.length}`, { comment: null })),
        ]);
        const phrases = phrasesOrNone(words);
        if (phrases.length === 0) {
          await expect(db.store.findEntries({ words, limit: 10 })).rejects.toThrow();
          return;
        }
        const expected = texts.flatMap((comment, n) =>
          phrases.every((phrase) => marksIn(comment, [phrase]).length > 0) ? [`${n}`] : [],
        );
        expect(await idsOf(db, { words })).toEqual(expected);
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it('is narrowed down by every field, with and without words', async () => {
    await using db = await temporaryStore();
    await wholePass(db.store, 'p', [
      entry('a', {
        comment: 'slow',
        source: 'agent',
        status: 'pending',
        helpful: true,
        path: 'https://d.example/x/?q#f',
      }),
      entry('b', { comment: 'slow', source: 'contextual', status: 'resolved', helpful: false, path: '/x' }),
      entry('c', { comment: 'slow', createdAt: null, path: '/y' }),
    ]);
    await wholePass(db.store, 'q', [entry('d', { comment: 'slow', createdAt: '2026-01-01T00:00:00Z' })], {
      org: 'beta',
      project: 'prj_2',
    });
    const cases: [EntrySelection, string[]][] = [
      [{ org: 'beta' }, ['d']],
      [{ projects: ['prj_1'] }, ['a', 'b', 'c']],
      [{ projects: [] }, []],
      [{ projects: ['prj_1', 'prj_2', "o'; --"] }, ['a', 'b', 'c', 'd']],
      [{ sources: ['agent', 'contextual'] }, ['a', 'b']],
      [{ statuses: ['resolved'] }, ['b']],
      [{ helpful: 'yes' }, ['a']],
      [{ helpful: 'no', statuses: ['resolved'] }, ['b']],
      [{ helpful: 'none' }, ['c', 'd']],
      [{ document: 'https://other.example/x#y' }, ['a', 'b']],
      [{ since: '2026-11-20T10:00:00Z' }, ['a', 'b']],
      [{ until: '2026-11-20T10:00:00Z' }, ['d']],
      [{ since: '2026-01-01T00:00:00Z', until: '2026-11-20T10:00:01Z' }, ['a', 'b', 'd']],
      [{ firstSeenAfter: '2026-11-21T08:00:00.999Z' }, ['a', 'b', 'c', 'd']],
      [{ firstSeenAfter: '2026-11-21T08:00:01Z' }, []],
    ];
    for (const [selection, ids] of cases) {
      expect([selection, await idsOf(db, selection)]).toEqual([selection, ids]);
      expect([selection, await idsOf(db, { ...selection, words: 'slow' })]).toEqual([selection, ids]);
      expect(await idsOf(db, { ...selection, words: 'fast' })).toEqual([]);
    }
  });

  it('goes through all hits page by page, the newest first and those without a date last', async () => {
    await using db = await temporaryStore();
    const dates = [
      '2026-11-20T10:00:00Z',
      '2026-11-20T10:00:00Z',
      '2025-01-01',
      null,
      '1969-07-20T00:00:00Z',
      '9999-01-01',
    ];
    const many = Array.from({ length: 60 }, (_, n) =>
      entry(`${n}`, { comment: 'word', createdAt: dates[n % 6] ?? null }),
    );
    await wholePass(db.store, 'p', many);
    const seen: (string | null)[] = [];
    const ids = new Set<string>();
    for (let after: string | null = ''; after !== null; ) {
      const answer = await db.store.findEntries({ words: 'word', limit: 7, ...(after !== '' && { after }) });
      for (const { id, createdAt } of answer.entries) {
        ids.add(id);
        seen.push(createdAt);
      }
      expect(answer.total).toEqual({ count: 60, isExact: true });
      after = answer.after;
    }
    expect(ids.size).toBe(60);
    expect(seen).toEqual(seen.toSorted((a, b) => ((a ?? '') < (b ?? '') ? 1 : (a ?? '') > (b ?? '') ? -1 : 0)));
    const records: string[] = [];
    for await (const { id } of db.store.findRecords({ words: 'word' })) records.push(id);
    expect(new Set(records)).toEqual(ids);
  });

  it('leaves turns to others: a long answer holds them up no longer than a short one', async () => {
    await using at = await temporaryStore();
    const comment = `needle ${'word '.repeat(40_000)}`;
    for (let pass = 0; pass < 5; pass += 1) {
      const entries = Array.from({ length: 20 }, (_, n) => entry(`${pass}-${n}`, { comment }));
      await wholePass(at.store, `pass-${pass}`, entries);
    }
    /** The longest that others wait, in milliseconds of the processor, at best of five. */
    const longestGap = async (limit: number): Promise<number> => {
      let best = Number.POSITIVE_INFINITY;
      for (let turn = 0; turn < 5; turn += 1) {
        let [last, gap, isOver] = [process.cpuUsage(), 0, false];
        const others = () => {
          gap = Math.max(gap, process.cpuUsage(last).user / 1_000);
          last = process.cpuUsage();
          if (!isOver) setImmediate(others);
        };
        setImmediate(others);
        const { entries } = await at.store.findEntries({ words: 'needle', limit });
        expect(entries).toHaveLength(limit);
        await new Promise(setImmediate);
        isOver = true;
        best = Math.min(best, gap);
      }
      return best;
    };
    const [short, long] = [await longestGap(5), await longestGap(100)];
    process.stderr.write(`others wait ${short} ms for 5 entries of 200 kB, ${long} ms for 100\n`);
    // Held up by the whole, they would wait twenty times as long.
    expect(long).toBeLessThan(6 * Math.max(short, 10));
  });

  it('refuses what it cannot look for, naming the field', async () => {
    await using db = await stored([]);
    const refused = async (query: object) =>
      await db.store.findEntries({ limit: 1, ...query }).then(
        () => 'found',
        (error) => error.field,
      );
    for (const words of ['"""', '', ' ', '()', '* *', 'a*', 'x'.repeat(10_000_000)]) {
      expect(await refused({ words })).toBe('words');
    }
    expect(await refused({ since: 'yesterday' })).toBe('since');
    expect(await refused({ limit: 0 })).toBe('limit');
    expect(await refused({ limit: 201 })).toBe('limit');
    expect(await refused({ after: "1' or 1" })).toBe('after');
  });

  it('takes a hundred words, of which four are beginnings', () => {
    const many = (count: number, word: (n: number) => string) =>
      Array.from({ length: count }, (_, n) => word(n)).join(' ');
    const refused = (words: string) => {
      try {
        return searchPhrases(words).length;
      } catch (error) {
        return error;
      }
    };
    expect(refused(many(100, (n) => `w${n}`))).toBe(100);
    expect(refused(many(100, () => 'same'))).toBe(1);
    expect(refused(`"${many(101, () => 'same')}"`)).toMatchObject({
      field: 'words',
      message: 'there are 101 words to search for',
      hint: 'Name at most 100.',
    });
    expect(refused(many(4, (n) => `x${n}*`))).toBe(4);
    expect(refused(many(5, () => 'same*'))).toBe(1);
    expect(refused(`"a phrase"* ${many(4, (n) => `x${n}*`)}`)).toMatchObject({
      field: 'words',
      message: '5 words end in *',
      hint: 'Write some of them out: at most 4 may end in *.',
    });
    // A character of Chinese or Korean is no such beginning.
    expect(refused('이 그 저 수 것 등')).toBe(6);
  });

  it('shows contacts and unknown fields only where they are asked for', async () => {
    await using db = await stored([['a', { comment: 'word', contact: 'jane@mail.example', extra: { phone: '1' } }]]);
    const { store } = db;
    const contacts = async (with_: object) => [
      (await store.findEntries({ words: 'word', limit: 1, ...with_ })).entries[0]?.contact,
      (await store.entryDetail('prj_1', 'a', with_))?.contact,
    ];
    expect(await contacts({})).toEqual([null, null]);
    expect(await contacts({ contacts: true })).toEqual(['jane@mail.example', 'jane@mail.example']);
    for await (const record of store.findRecords({})) expect(record).toMatchObject({ contact: null, extra: {} });
    for await (const record of store.findRecords({ contacts: true })) {
      expect(record).toMatchObject({ contact: 'jane@mail.example', extra: { phone: '1' } });
    }
  });

  it('follows every change of an entry', async () => {
    await using db = await stored([['a', { comment: 'first words' }]]);
    const { store } = db;
    await wholePass(store, 'q', [entry('a', { comment: 'other text', status: 'resolved' })]);
    expect(await idsOf(db, { words: 'first' })).toEqual([]);
    expect(await idsOf(db, { words: 'other', statuses: ['resolved'] })).toEqual(['a']);
    expect(await idsOf(db, { statuses: ['pending'] })).toEqual([]);
    expect((await store.entryDetail('prj_1', 'a'))?.changes).toMatchObject([
      { field: 'status', old: 'pending', new: 'resolved' },
    ]);
    expect(await store.entryDetail('prj_1', 'b')).toBeNull();
    expect(await store.entryDetail('prj_2', 'a')).toBeNull();
  });

  it('tells the changes of one moment in the order in which they follow from each other', async () => {
    await using db = await stored([['a', {}]]);
    const { store } = db;
    await db.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z'");
    await wholePass(store, 'q', [entry('a', { status: 'in_progress' }), entry('a', { status: 'resolved' })]);
    const changes = async () =>
      (await store.entryDetail('prj_1', 'a'))?.changes.map((change) => [change.field, change.old, change.new]);
    const expected = [
      ['deleted_at', '2026-11-20T00:00:00.000Z', null],
      ['status', 'pending', 'in_progress'],
      ['status', 'in_progress', 'resolved'],
    ];
    expect(await changes()).toEqual(expected);
    // However the rows lie in the table.
    const columns = 'project_id, id, field, old, new, seen_at';
    await db.run(`create table copied as select ${columns} from feedback_changes`);
    for (const order of ['new desc', 'new']) {
      await db.run('delete from feedback_changes');
      await db.run(`insert into feedback_changes (${columns}) select ${columns} from copied order by ${order}`);
      expect(await changes()).toEqual(expected);
    }
  });

  it('counts paths that go on without end by their beginning', async () => {
    const endless = `/${'x'.repeat(1_000_000)}`;
    await using db = await stored([
      ['a', { path: `${endless}a` }],
      ['b', { path: `${endless}b` }],
    ]);
    const { documents } = await db.store.findDocuments({ limit: 10 });
    expect(documents.map(({ document, entries }) => [document.length, entries])).toEqual([[4_000, 2]]);
  });

  it('has the latest changes of an entry that changes without end', async () => {
    await using db = await stored([['a', {}]]);
    const status = (n: number) => `'${n}', '${n + 1}', '2026-11-21T08:00:00.${String(n).padStart(3, '0')}Z'`;
    const rows = Array.from({ length: 200 }, (_, n) => `('prj_1', 'a', 'status', ${status(n)})`);
    await db.run(`insert into feedback_changes (project_id, id, field, old, new, seen_at) values ${rows.join()}`);
    expect(await db.store.entryDetail('prj_1', 'a')).toMatchObject({ hasEarlierChanges: false });
    await db.run(
      `insert into feedback_changes (project_id, id, field, old, new, seen_at) values ('prj_1', 'a', 'status', ${status(200)})`,
    );
    const detail = await db.store.entryDetail('prj_1', 'a');
    expect(detail?.hasEarlierChanges).toBe(true);
    expect(detail?.changes.map(({ old }) => old)).toEqual(Array.from({ length: 200 }, (_, n) => `${n + 1}`));
  });

  it('counts by document', async () => {
    await using db = await temporaryStore();
    await begin(db.store, 'p');
    const on = (id: string, path: string, over = {}) => entry(id, { comment: 'word', path, ...over });
    await db.store.upsertPage(
      page('p', [
        on('a', '/x', { helpful: true }),
        on('b', '/x/?q', { helpful: false, createdAt: '2026-11-21T00:00:00Z' }),
        on('c', '/y', { helpful: false }),
        on('d', '/z', { comment: 'else' }),
      ]),
    );
    expect(await db.store.findDocuments({ words: 'word', limit: 1 })).toEqual({
      documents: [
        {
          org: 'acme',
          project: 'prj_1',
          document: '/x',
          entries: 2,
          helpful: { yes: 1, no: 1 },
          latest: '2026-11-21T00:00:00.000Z',
        },
      ],
      total: { count: 3, isExact: true },
      more: 1,
      index: { complete: true, percent: 100 },
    });
  });

  it('counts votes and comments of a page by week', async () => {
    await using db = await stored([
      ['before', { helpful: false, createdAt: '2026-08-30T23:59:59Z' }],
      ['first', { helpful: false, comment: 'words', createdAt: '2026-08-31T00:00:00Z' }],
      ['blank', { helpful: true, comment: ' ', createdAt: '2026-09-06T23:59:59Z' }],
      ['later', { path: '/docs/start/?q', helpful: null, comment: 'words', createdAt: '2026-11-16T00:00:00Z' }],
      ['elsewhere', { path: '/else', helpful: false, createdAt: '2026-11-16T00:00:00Z' }],
      ['undated', { helpful: false, createdAt: null }],
      ['ahead', { helpful: false, createdAt: '2026-11-22T00:00:00Z' }],
    ]);
    const axis = lastWeeks(12, new Date('2026-11-21T08:00:00Z'));
    const nothing = { yes: 0, no: 0, comments: 0 };
    expect(await db.store.findTrend({ document: '/docs/start' }, axis)).toEqual([
      { yes: 1, no: 1, comments: 1 },
      ...Array.from({ length: 10 }, () => nothing),
      { yes: 0, no: 0, comments: 1 },
    ]);
    expect(await db.store.findTrend({ document: '/none' }, axis)).toEqual(Array.from({ length: 12 }, () => nothing));
  });
});

function phrasesOrNone(words: string) {
  try {
    return searchPhrases(words);
  } catch {
    return [];
  }
}
