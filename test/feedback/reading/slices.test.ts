import { describe, expect, it } from 'vitest';
import type { PageUpsert } from '../../../src/feedback/reading/passes.ts';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import {
  CannotResume,
  everything,
  GapInDates,
  isoText,
  type PlannedSlice,
  RepeatedCursor,
} from '../../../src/feedback/rules/slice.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { begin, entry, finished, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const hour = 3_600_000;
const day = 24 * hour;
const base = Date.parse('2026-11-20T00:00:00Z');
/** An entry `days` days before 20 November. */
const aged = (id: string, days: number, over: Partial<FeedbackEntry> = {}) =>
  entry(id, { createdAt: isoText(base - days * day), ...over });
const walk: PlannedSlice = { ...everything, stage: 'read', expectedPages: null };
const later = new Date('2026-11-22T08:00:00Z');
const latest = new Date('2026-11-23T08:00:00Z');

/** Commits a page from wherever the pass stands. */
async function read(
  store: FeedbackStore,
  passId: string,
  entries: FeedbackEntry[],
  over: Partial<PageUpsert> = {},
): Promise<void> {
  const row = await store.getPass(passId);
  if (row === null) throw new Error('no such pass');
  const seenAt = new Date(Date.parse(row.startedAt) + 60_000);
  const from = row.position;
  await store.upsertPage(page(passId, entries, { from, seenAt, ...over }));
}

const more = (nextCursor: string) => ({ nextCursor, hasMore: true });
const current = async (store: FeedbackStore, passId: string) => (await store.currentSlice(passId))?.slice ?? null;

describe('the slices of a pass', () => {
  it('are read one after the other, each from its first page; the last one completes the pass', async () => {
    await using at = await temporaryStore();
    const slices = [
      { ...walk, expectedPages: 2 },
      { ...walk, dateTo: isoText(base), statuses: ['pending', 'a'], expectedPages: 1 },
    ];
    expect((await begin(at.store, 'p', { slices })).expectedPages).toBe(3);
    await read(at.store, 'p', [aged('a', 1)], more('c'));
    expect(await current(at.store, 'p')).toBe(1);
    await read(at.store, 'p', [aged('b', 2)]);
    expect(await at.store.currentSlice('p')).toMatchObject({ slice: 2, ...slices[1], outcome: 'planned', pages: 0 });
    expect((await at.store.getPass('p'))?.position).toEqual({ page: 2, cursor: null, complete: false });
    await expect(at.store.finishPass('p', finished)).rejects.toThrow('was not committed');
    // Another query may be given the same cursors.
    await read(at.store, 'p', [aged('c', 3)], more('c'));
    await read(at.store, 'p', [aged('d', 4)]);
    expect((await at.store.getPass('p'))?.position.complete).toBe(true);
    expect(await at.store.currentSlice('p')).toBeNull();
    await at.store.finishPass('p', finished);
    expect(await at.store.listSlices('p')).toEqual([]);
  });

  it('note the order, the dates and how far they were read', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await read(at.store, 'p', [aged('a', 1), aged('b', 2), aged('n', 0, { createdAt: null })], more('c'));
    expect(await at.store.currentSlice('p')).toMatchObject({
      order: 'newest',
      newestSeen: isoText(base - day),
      oldestSeen: isoText(base - 2 * day),
      undatedPlace: 'elsewhere',
      entries: 3,
      repeats: 0,
    });
  });

  it('may have a few pages that bring nothing new, but not go in circles', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await read(at.store, 'p', [aged('a', 1)], more('0'));
    for (let number = 1; number <= 5; number += 1) {
      await read(at.store, 'p', number % 2 === 0 ? [] : [aged('a', 1)], more(`${number}`));
    }
    await expect(read(at.store, 'p', [], more('6'))).rejects.toThrow(
      new RepeatedCursor('more than 5 pages in a row were empty or given before, and promise more'),
    );
    await read(at.store, 'p', [aged('b', 2)], more('7'));
    await read(at.store, 'p', [], more('8'));
  });

  it('store the rows of a page that leads nowhere, and stay where they are', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await read(at.store, 'p', [aged('a', 1)], { hasMore: true, nextCursor: null, rowsOnly: true });
    expect(await at.store.getPass('p')).toMatchObject({ pages: 0, position: { page: 0 }, entries: { inserted: 1 } });
    expect((await at.store.countEntries('acme', 'prj_1')).entries).toBe(1);
  });
});

describe('a slice whose cursor died', () => {
  const begun = async (store: FeedbackStore, dates: number[], slices?: PlannedSlice[]) => {
    await begin(store, 'p', slices === undefined ? {} : { slices });
    await read(
      store,
      'p',
      dates.map((days) => aged(`e${days}`, days)),
      more('c'),
    );
  };

  it('is continued by date from the last entry seen', async () => {
    await using at = await temporaryStore();
    await begun(at.store, [1, 2, 3]);
    await at.store.cutSlice('p', 'another cursor');
    expect(await current(at.store, 'p')).toBe(1);
    await at.store.cutSlice('p', 'c');
    // A page ends where its last ten entries begin: one odd date among them does not mislead.
    const joinsAt = isoText(base - day);
    expect(await at.store.currentSlice('p')).toMatchObject({
      slice: 2,
      dateFrom: null,
      dateTo: isoText(base - day + 1),
      joinsAt,
      order: 'newest',
    });
    await read(at.store, 'p', [aged('e1', 1), aged('e4', 4)], { seenAt: later });
    // The walk was to have come to the entries without a date at its end: they are asked for by source and status.
    expect(await at.store.currentSlice('p')).toMatchObject({ stage: 'undated', dateFrom: null, dateTo: null });
  });

  it('is continued upwards where the oldest come first', async () => {
    await using at = await temporaryStore();
    await begun(at.store, [9, 8, 7], [{ ...walk, dateTo: isoText(base) }]);
    await at.store.cutSlice('p', 'c');
    expect(await at.store.currentSlice('p')).toMatchObject({
      dateFrom: isoText(base - 9 * day - 1),
      dateTo: isoText(base),
      order: 'oldest',
    });
  });

  it('widens the bounds once when they are understood otherwise, then says that there is a gap', async () => {
    await using at = await temporaryStore();
    await begun(at.store, [1, 2, 3]);
    await at.store.cutSlice('p', 'c');
    await read(at.store, 'p', [aged('e5', 5)], more('d'));
    expect(await at.store.currentSlice('p')).toMatchObject({
      slice: 3,
      dateTo: isoText(base + day + 1),
      slackMs: 2 * day,
      joinsAt: isoText(base - day),
    });
    expect((await at.store.getPass('p'))?.position.cursor).toBeNull();
    await expect(read(at.store, 'p', [aged('e5', 5)], more('d'))).rejects.toThrow(GapInDates);
    await read(at.store, 'p', [aged('e0', 0), aged('e1', 1), aged('e5', 5)], more('e'));
    expect(await current(at.store, 'p')).toBe(3);
  });

  it('cannot be continued where entries are not in the order of their dates', async () => {
    await using at = await temporaryStore();
    await begun(at.store, [5, 1, 7, 2, 9, 3]);
    await expect(at.store.cutSlice('p', 'c')).rejects.toThrow(CannotResume);
    expect(await at.store.currentSlice('p')).toMatchObject({ slice: 1, outcome: 'reading' });
  });

  it('cannot be continued for ever without getting further', async () => {
    await using at = await temporaryStore();
    await begun(at.store, [1, 2, 3]);
    await at.store.cutSlice('p', 'c');
    await read(at.store, 'p', [aged('e1', 1), aged('same', 1)], more('d'));
    await expect(at.store.cutSlice('p', 'd')).rejects.toThrow('cursors die before they lead past');
  });
});

describe('entries that are gone', () => {
  const tombstones = async (store: FeedbackStore) => (await store.countEntries('acme', 'prj_1')).tombstones;
  const stored = [aged('a', 1), aged('b', 2), aged('c', 3)];

  it('are tombstoned after a second reading that covers them, with their history', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', stored);
    await begin(at.store, 'second', { startedAt: later });
    await read(at.store, 'second', [aged('a', 1), aged('c', 3)]);
    expect(await tombstones(at.store)).toBe(0);
    const again = await at.store.currentSlice('second');
    expect(again).toMatchObject({ stage: 'again', statuses: null, dateFrom: isoText(base - 3 * day - 1) });
    await read(at.store, 'second', [aged('a', 1), aged('c', 3)]);
    expect((await at.store.finishPass('second', finished)).entries.tombstoned).toBe(1);
    expect(await at.rows('select id from feedback where deleted_at is not null')).toEqual([{ id: 'b' }]);
    expect(await at.rows('select id, field, old from feedback_changes')).toEqual([
      { id: 'b', field: 'deleted_at', old: null },
    ]);
  });

  it('are looked for although they are dated at the end of all years, and the pass completes', async () => {
    await using at = await temporaryStore();
    const last = aged('last', 1, { createdAt: '9999-12-31T23:59:59.999Z' });
    await wholePass(at.store, 'first', [last, ...stored]);
    await begin(at.store, 'second', { startedAt: later });
    await read(at.store, 'second', stored);
    // The window around it could not be closed behind it, so all is read again.
    await read(at.store, 'second', stored);
    await read(at.store, 'second', stored);
    expect(await at.store.finishPass('second', finished)).toMatchObject({ outcome: 'completed' });
    expect(await tombstones(at.store)).toBe(1);
  });

  it('are not gone while entries without a readable id come, which may be they', async () => {
    await using at = await temporaryStore();
    const rest = [aged('a', 1), aged('c', 3)];
    const nameless = { rejected: [{ id: `sha256:${'0'.repeat(32)}`, raw: '{"id":7}', reason: 'id: expected string' }] };
    await wholePass(at.store, 'first', stored);
    for (const [passId, startedAt, over] of [
      ['second', later, nameless],
      ['third', latest, {}],
    ] as const) {
      expect(await tombstones(at.store)).toBe(0);
      await begin(at.store, passId, { startedAt });
      await read(at.store, passId, rest, over);
      await read(at.store, passId, rest);
      await at.store.finishPass(passId, finished);
    }
    expect(await tombstones(at.store)).toBe(1);
  });

  it.each([
    ['of an entry that is stored', 'b', false],
    ['without an id', `sha256:${'0'.repeat(32)}`, false],
    ['of an entry that was never stored', 'x', true],
  ])('are not complete after a reading with a reject %s', async (_what, id, isComplete) => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', stored);
    await begin(at.store, 'second', { startedAt: later });
    const rejected = [{ id, raw: '{}', reason: 'createdAt: expected string, got number' }];
    await read(at.store, 'second', stored, { rejected });
    await at.store.finishPass('second', finished);
    expect((await at.store.verifiedUpTo('acme', 'prj_1')) === later.toISOString()).toBe(isComplete);
  });

  it('are not gone when the second reading finds them', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', stored);
    await begin(at.store, 'second', { startedAt: later });
    await read(at.store, 'second', [aged('a', 1), aged('c', 3)]);
    await read(at.store, 'second', stored);
    expect((await at.store.finishPass('second', finished)).outcome).toBe('completed');
    expect(await tombstones(at.store)).toBe(0);
  });

  it('are looked for with wide margins when the second reading does not cover them', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', stored);
    await begin(at.store, 'second', { startedAt: later });
    await read(at.store, 'second', [aged('a', 1), aged('b', 2)]);
    await read(at.store, 'second', [aged('a', 1)]);
    expect(await at.store.currentSlice('second')).toMatchObject({ stage: 'wide' });
    expect(await tombstones(at.store)).toBe(0);
    await read(at.store, 'second', [aged('a', 1), aged('b', 2)]);
    await at.store.finishPass('second', finished);
    expect(await at.rows('select id from feedback where deleted_at is not null')).toEqual([{ id: 'c' }]);
  });

  it('are none of the whole for a pass that read some dates, but those within them', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [...stored, aged('d', 30), aged('e', 31), aged('f', 32)]);
    const dates = { dateFrom: isoText(base - 33 * day), dateTo: isoText(base - 29 * day) };
    await begin(at.store, 'second', { ...dates, startedAt: later });
    await read(at.store, 'second', [aged('d', 30), aged('f', 32)]);
    await read(at.store, 'second', [aged('d', 30), aged('f', 32)]);
    await at.store.finishPass('second', finished);
    expect(await at.rows('select id from feedback where deleted_at is not null')).toEqual([{ id: 'e' }]);
  });

  it('without a date are gone when two walks over everything have missed them, the first without shifting', async () => {
    await using at = await temporaryStore();
    const undated = aged('n', 0, { createdAt: null });
    await wholePass(at.store, 'first', [aged('a', 1), undated]);
    await wholePass(at.store, 'second', [aged('a', 1)], { startedAt: later });
    expect(await tombstones(at.store)).toBe(0);
    await begin(at.store, 'third', { startedAt: latest });
    await read(at.store, 'third', [aged('a', 1)]);
    await at.store.finishPass('third', finished);
    expect(await at.rows('select id from feedback where deleted_at is not null')).toEqual([{ id: 'n' }]);
  });

  it('are never noted by a review or an incremental pass', async () => {
    await using at = await temporaryStore();
    const others = Array.from({ length: 400 }, (_, index) => aged(`z${index}`, 10 + index, { status: 'resolved' }));
    await wholePass(at.store, 'first', [...stored, ...others]);
    await begin(at.store, 'review', { pass: 'review', startedAt: later, slices: [{ ...walk, stage: 'open' }] });
    await read(at.store, 'review', []);
    for (const stage of ['look', 'again']) {
      expect(await at.store.currentSlice('review')).toMatchObject({ stage });
      await read(at.store, 'review', [
        aged('a', 1, { status: 'resolved' }),
        aged('c', 3, { status: 'dismissed' }),
        ...others.slice(0, 44),
      ]);
    }
    await at.store.finishPass('review', finished);
    expect(await tombstones(at.store)).toBe(0);
    expect(await at.rows("select id, status from feedback where id < 'z' order by id")).toEqual([
      { id: 'a', status: 'resolved' },
      { id: 'b', status: 'pending' },
      { id: 'c', status: 'dismissed' },
    ]);
  });
});

describe('what is complete', () => {
  const proved = (store: FeedbackStore) => store.verifiedUpTo('acme', 'prj_1');

  it('is everything after a walk of one page, as of its start', async () => {
    await using at = await temporaryStore();
    expect(await proved(at.store)).toBeNull();
    await wholePass(at.store, 'p', [aged('a', 1)]);
    expect(await proved(at.store)).toBe('2026-11-21T08:00:00.000Z');
    expect(await at.store.verifiedUpTo('globex', 'prj_1')).toBeNull();
  });

  it.each([
    [true, '2026-11-21T08:00:00.000Z'],
    [false, null],
    [null, null],
  ])('depends on the last page of several, asked for once more (the same: %s)', async (same, expected) => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    for (let number = 1; number < 10; number += 1) {
      await read(at.store, 'p', [aged(`a${number}`, number)], { ...more(`${number}`), mayCheck: true });
    }
    await read(at.store, 'p', [aged('b', 20)], { mayCheck: true });
    expect(await at.store.currentSlice('p')).toMatchObject({ outcome: 'checking', lastCursor: '9' });
    await read(at.store, 'p', [aged('b', 20)], { rowsOnly: true, isCheck: true });
    await at.store.endCheck('p', same, later);
    expect(await at.store.finishPass('p', finished)).toMatchObject({ pages: 10, entries: { seen: 10, unchanged: 0 } });
    expect(await proved(at.store)).toBe(expected);
  });

  it('is not worth a request more in a first sweep of a few pages, but in the next one', async () => {
    await using at = await temporaryStore();
    for (const [passId, startedAt, outcome] of [
      ['first', undefined, null],
      ['second', later, 'checking'],
    ] as const) {
      await begin(at.store, passId, startedAt === undefined ? {} : { startedAt });
      await read(at.store, passId, [aged('a', 1)], { ...more('c'), mayCheck: true });
      await read(at.store, passId, [aged('b', 2)], { mayCheck: true });
      expect((await at.store.currentSlice(passId))?.outcome ?? null).toBe(outcome);
      if (outcome === null) await at.store.finishPass(passId, finished);
    }
    expect(await proved(at.store)).toBeNull();
  });

  it('is nothing that shifted while it was read', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await wholePass(at.store, 'before', [], { startedAt: new Date('2026-11-01') });
    await read(at.store, 'p', [aged('a', 1), aged('b', 2)], more('c'));
    await read(at.store, 'p', [aged('b', 2), aged('c', 3)], { mayCheck: true });
    await at.store.endCheck('p', true, later);
    await at.store.finishPass('p', finished);
    expect(await proved(at.store)).toBe('2026-11-01T00:00:00.000Z');
  });

  it('moves with what an incremental pass of one page has covered', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [aged('a', 1), aged('b', 2)]);
    const incremental = { pass: 'incremental', dateFrom: isoText(base - 2.5 * day), startedAt: later } as const;
    await begin(at.store, 'next', incremental);
    await read(at.store, 'next', [aged('n', 0), aged('a', 1), aged('b', 2)]);
    await at.store.finishPass('next', finished);
    expect(await at.store.verifiedRanges('acme', 'prj_1')).toEqual({
      ranges: [
        { from: null, to: isoText(base - 2 * day), verifiedUpTo: '2026-11-21T08:00:00.000Z' },
        { from: isoText(base - 2 * day), to: null, verifiedUpTo: later.toISOString() },
      ],
      undated: '2026-11-21T08:00:00.000Z',
    });
    expect(await proved(at.store)).toBe('2026-11-21T08:00:00.000Z');
  });
});

describe('an incremental pass', () => {
  it('begins earlier when it does not reach what was read before', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [aged('a', 1), aged('b', 1.2)]);
    await begin(at.store, 'next', { pass: 'incremental', dateFrom: isoText(base - 2 * day), startedAt: later });
    await read(at.store, 'next', [aged('n', 0)]);
    expect(await at.store.currentSlice('next')).toMatchObject({
      stage: 'read',
      dateFrom: isoText(base - 4 * day),
      dateTo: isoText(base + 2 * day),
    });
    await read(at.store, 'next', [aged('n', 0), aged('missed', 0.5), aged('a', 1), aged('b', 1.2)]);
    expect((await at.store.finishPass('next', finished)).outcome).toBe('completed');
    expect(await at.store.watermark('acme', 'prj_1')).toBe(isoText(base));
  });
});

describe('a review', () => {
  const closed = { status: 'resolved' } as const;
  const review = { pass: 'review', startedAt: later } as const;
  const open: PlannedSlice = { ...everything, stage: 'open', statuses: ['pending', 'in_progress'], expectedPages: 1 };

  it('asks for nothing more when all that was open still is', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [aged('a', 1), aged('b', 2, closed)]);
    await begin(at.store, 'p', { ...review, slices: [open] });
    await read(at.store, 'p', [aged('a', 1)]);
    expect((await at.store.getPass('p'))?.position.complete).toBe(true);
  });

  it('looks among the closed for what vanished, then among all, and counts that in what it expects', async () => {
    await using at = await temporaryStore();
    const others = Array.from({ length: 400 }, (_, index) => aged(`z${index}`, 10 + index / 10, closed));
    await wholePass(at.store, 'first', [aged('a', 1), aged('b', 2), ...others]);
    await begin(at.store, 'p', { ...review, slices: [open] });
    await read(at.store, 'p', [aged('a', 1)]);
    expect(await at.store.currentSlice('p')).toMatchObject({ stage: 'look', statuses: ['resolved', 'dismissed'] });
    expect((await at.store.getPass('p'))?.expectedPages).toBe(2);
    await read(at.store, 'p', others.slice(0, 45));
    expect(await at.store.currentSlice('p')).toMatchObject({ stage: 'again', statuses: null });
    await read(at.store, 'p', [aged('a', 1), aged('b', 2, { status: 'snoozed' }), ...others.slice(0, 44)]);
    await at.store.finishPass('p', finished);
    expect(await at.rows("select status from feedback where id = 'b'")).toEqual([{ status: 'snoozed' }]);
  });

  it('reads all closed entries where the service takes date-times for their dates', async () => {
    await using at = await temporaryStore();
    const others = Array.from({ length: 400 }, (_, index) => aged(`z${index}`, 10 + index / 200, closed));
    await wholePass(at.store, 'first', [aged('a', 1), ...others, aged('b', 11)]);
    await begin(at.store, 'p', { ...review, slices: [open] });
    await read(at.store, 'p', []);
    expect((await at.store.currentSlice('p'))?.stage).toBe('look');
    await read(at.store, 'p', [aged('z', 20, closed)]);
    expect(await at.store.currentSlice('p')).toMatchObject({
      stage: 'look',
      dateFrom: null,
      dateTo: null,
      statuses: ['resolved', 'dismissed'],
      expectedPages: 5,
    });
  });
});
