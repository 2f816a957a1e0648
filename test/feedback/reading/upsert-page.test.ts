import { describe, expect, it } from 'vitest';
import { StalePosition } from '../../../src/feedback/reading/passes.ts';
import { RepeatedCursor } from '../../../src/feedback/rules/slice.ts';
import {
  begin,
  entry,
  finished,
  page,
  startedAt,
  temporaryStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';

const none = { seen: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0, tombstoned: 0 };

describe('the rows of a page', () => {
  it('are not written by a version that is older than the tables have become', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await at.run("insert into kysely_migration values ('9999-from-the-future', '2030-01-01T00:00:00.000Z')");
    const { upsertPage } = at.store;
    await expect(upsertPage(page('p', [entry('e')]))).rejects.toMatchObject({
      name: 'FeedbackStoreUnavailable',
      message: expect.stringContaining('a newer docferry has changed its tables'),
    });
    expect(await at.rows('select * from feedback')).toEqual([]);
    await at.run("delete from kysely_migration where name = '9999-from-the-future'");
    expect(await upsertPage(page('p', [entry('e')]))).toMatchObject({ counts: { inserted: 1 } });
  });

  it('holds every field as sent, and the time in UTC beside it', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await at.store.upsertPage(
      page('p', [
        entry('c', {
          comment: 'great',
          createdAt: '2026-11-20T12:00:00+02:00',
          source: 'contextual',
          helpful: false,
          contact: 'ada@example.org',
          extra: { region: 'eu' },
        }),
        entry('s', { source: 'code_snippet', status: 'resolved', code: 'x = 1', filename: 'a.py', lang: 'python' }),
        entry('n', { createdAt: null, source: 'voice' }),
      ]),
    );
    const common = {
      org_id: 'acme',
      project_id: 'prj_1',
      path: '/docs/start',
      first_seen_at: '2026-11-21T08:00:01.000Z',
      last_seen_at: '2026-11-21T08:00:01.000Z',
      deleted_at: null,
    };
    const empty = { comment: null, helpful: null, contact: null, code: null, filename: null, lang: null, extra: null };
    expect(await at.rows('select * from feedback order by id')).toEqual([
      {
        ...common,
        ...empty,
        id: 'c',
        comment: 'great',
        created_at: '2026-11-20T12:00:00+02:00',
        created_at_utc: '2026-11-20T10:00:00.000Z',
        source: 'contextual',
        status: 'pending',
        helpful: 0,
        contact: 'ada@example.org',
        extra: '{"region":"eu"}',
      },
      {
        ...common,
        ...empty,
        id: 'n',
        created_at: null,
        created_at_utc: null,
        source: 'voice',
        status: 'pending',
      },
      {
        ...common,
        ...empty,
        id: 's',
        created_at: '2026-11-20T10:00:00Z',
        created_at_utc: '2026-11-20T10:00:00.000Z',
        source: 'code_snippet',
        status: 'resolved',
        code: 'x = 1',
        filename: 'a.py',
        lang: 'python',
      },
    ]);
  });

  it('tells inserted, updated and unchanged entries apart and keeps the first sight of each', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [entry('same'), entry('edited'), entry('other')]);
    await begin(at.store, 'second');
    const { counts } = await at.store.upsertPage(
      page('second', [entry('same'), entry('edited', { comment: 'more' }), entry('new')], {
        seenAt: new Date('2026-11-22T00:00:00Z'),
      }),
    );
    expect(counts).toEqual({ ...none, seen: 3, inserted: 1, updated: 1, unchanged: 1 });
    expect(await at.rows('select id, first_seen_at f, last_seen_at l, comment from feedback order by id')).toEqual([
      { id: 'edited', f: '2026-11-21T08:00:01.000Z', l: '2026-11-22T00:00:00.000Z', comment: 'more' },
      { id: 'new', f: '2026-11-22T00:00:00.000Z', l: '2026-11-22T00:00:00.000Z', comment: null },
      { id: 'other', f: '2026-11-21T08:00:01.000Z', l: '2026-11-21T08:00:01.000Z', comment: null },
      { id: 'same', f: '2026-11-21T08:00:01.000Z', l: '2026-11-22T00:00:00.000Z', comment: null },
    ]);
  });

  it.each([
    ['path', { path: '/other' }],
    ['comment', { comment: 'x' }],
    ['createdAt', { createdAt: null }],
    ['source', { source: 'agent' }],
    ['status', { status: 'resolved' }],
    ['helpful', { helpful: false }],
    ['contact', { contact: 'a@b.example' }],
    ['code', { code: 'x' }],
    ['filename', { filename: 'x' }],
    ['lang', { lang: 'x' }],
    ['extra', { extra: { a: 1 } }],
  ])('counts a change of %s alone as an update', async (_field, change) => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [entry('e')]);
    const second = await wholePass(at.store, 'second', [entry('e', change)]);
    expect(second.entries).toEqual({ ...none, seen: 1, updated: 1 });
    const third = await wholePass(at.store, 'third', [entry('e', change)]);
    expect(third.entries).toEqual({ ...none, seen: 1, unchanged: 1 });
  });

  it('handles an id that occurs several times in a page in the order sent', async () => {
    await using at = await temporaryStore();
    const { entries } = await wholePass(at.store, 'p', [
      entry('twice'),
      entry('twice'),
      entry('twice', { status: 'resolved' }),
      entry('once'),
    ]);
    expect(entries).toEqual({ ...none, seen: 4, inserted: 2, updated: 1, unchanged: 1 });
    expect(await at.rows('select id, status from feedback order by id')).toEqual([
      { id: 'once', status: 'pending' },
      { id: 'twice', status: 'resolved' },
    ]);
    expect(await at.rows('select id, field, old, new from feedback_changes')).toEqual([
      { id: 'twice', field: 'status', old: 'pending', new: 'resolved' },
    ]);
  });

  it('keeps the same id of two projects apart', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'one', [entry('e')]);
    await wholePass(at.store, 'two', [entry('e', { status: 'resolved' })], { project: 'prj_2' });
    expect(await at.rows('select project_id, status from feedback order by 1')).toEqual([
      { project_id: 'prj_1', status: 'pending' },
      { project_id: 'prj_2', status: 'resolved' },
    ]);
  });

  it('stores emoji, a megabyte of text and what no database can store as text', async () => {
    await using at = await temporaryStore();
    const long = '👍🏽'.repeat(250_000);
    const odd = entry('odd \uD83D', { comment: 'a\u0000b\uDC00', path: long });
    await wholePass(at.store, 'p', [odd]);
    const again = await wholePass(at.store, 'q', [odd]);
    expect(again.entries).toEqual({ ...none, seen: 1, unchanged: 1 });
    expect(await at.rows('select id, comment, path from feedback')).toEqual([
      { id: 'odd \uFFFD', comment: 'a\uFFFDb\uFFFD', path: long },
    ]);
  });

  it('takes ids as long as the service may send them', async () => {
    await using at = await temporaryStore();
    // Nothing that a database could compress: PostgreSQL's indexes are bounded by bytes.
    const noise = (seed: number) =>
      Array.from({ length: 512 }, (_, n) =>
        String.fromCharCode(0x4e00 + ((n * 7919 + seed * 104_729 + n * n) % 20_000)),
      ).join('');
    const sent = [entry(noise(1)), entry(noise(2), { createdAt: null })];
    await begin(at.store, 'p');
    const reject = { id: noise(3), raw: '{}', reason: 'path: missing' };
    await at.store.upsertPage(page('p', sent, { rejected: [reject] }));
    expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 2, rejects: 1, tombstones: 0 });
  });

  it('takes a page far larger than the service promises, and lets others run meanwhile', async () => {
    await using at = await temporaryStore();
    const many = Array.from({ length: 3_201 }, (_, index) => entry(`e${index}`, { status: `s${index}` }));
    const rejected = Array.from({ length: 701 }, (_, index) => ({
      id: `r${index}`,
      raw: '{}',
      reason: 'path: missing',
    }));
    await begin(at.store, 'p');
    let turns = 0;
    const turn = () => {
      turns += 1;
      running = setImmediate(turn);
    };
    let running = setImmediate(turn);
    const { counts } = await at.store.upsertPage(page('p', [...many, entry('e7')], { rejected }));
    clearImmediate(running);
    expect(turns).toBeGreaterThanOrEqual(7);
    expect(counts).toEqual({ ...none, seen: 3_903, inserted: 3_201, updated: 1, rejected: 701 });
    const again = await wholePass(at.store, 'q', [entry('e7'), ...many.filter(({ id }) => id !== 'e7')]);
    expect(again.entries).toEqual({ ...none, seen: 3_201, unchanged: 3_201 });
    expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 3_201, rejects: 701, tombstones: 0 });
  });

  it('takes nothing of a page far larger than that when it fails near its end', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    const many = Array.from({ length: 1_201 }, (_, index) => entry(`e${index}`));
    await at.run('alter table sync_passes rename column seen to gone');
    await expect(at.store.upsertPage(page('p', many))).rejects.toThrow(/no such column|42703/);
    await at.run('alter table sync_passes rename column gone to seen');
    expect(await at.rows('select id from feedback')).toEqual([]);
    expect((await at.store.getPass('p'))?.position).toEqual({ page: 0, cursor: null, complete: false });
  });
});

describe('history', () => {
  it('keeps every change of status with its moment, and no other content', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p1', [entry('e')]);
    await wholePass(at.store, 'p2', [
      entry('e', { status: 'in_progress', comment: 'private', contact: 'a@b.example' }),
    ]);
    await begin(at.store, 'p3');
    await at.store.upsertPage(
      page('p3', [entry('e', { status: 'resolved' })], { seenAt: new Date('2026-12-01T00:00:00Z') }),
    );
    expect(await at.rows('select * from feedback_changes order by seen_at, old')).toEqual([
      {
        project_id: 'prj_1',
        id: 'e',
        field: 'status',
        old: 'pending',
        new: 'in_progress',
        seen_at: '2026-11-21T08:00:01.000Z',
      },
      {
        project_id: 'prj_1',
        id: 'e',
        field: 'status',
        old: 'in_progress',
        new: 'resolved',
        seen_at: '2026-12-01T00:00:00.000Z',
      },
    ]);
  });

  it('brings back an entry that was tombstoned', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p1', [entry('e'), entry('gone')]);
    await at.run("update feedback set deleted_at = '2026-11-21T09:00:00.000Z'");
    expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 0, rejects: 0, tombstones: 2 });
    const { entries } = await wholePass(at.store, 'p2', [entry('e')]);
    expect(entries).toEqual({ ...none, seen: 1, updated: 1 });
    expect(await at.rows('select id, deleted_at from feedback order by id')).toEqual([
      { id: 'e', deleted_at: null },
      { id: 'gone', deleted_at: '2026-11-21T09:00:00.000Z' },
    ]);
    expect(await at.rows('select id, field, old, new from feedback_changes')).toEqual([
      { id: 'e', field: 'deleted_at', old: '2026-11-21T09:00:00.000Z', new: null },
    ]);
    expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 1, rejects: 0, tombstones: 1 });
  });
});

describe('rejects', () => {
  const reject = { id: 'bad', raw: '{"id":"bad","status":7}\u0000', reason: 'status: number' };

  it('keeps what cannot be understood, replaces it when sent again and drops it once it can be', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p1');
    const first = await at.store.upsertPage(page('p1', [entry('good')], { rejected: [reject] }));
    expect(first.counts).toEqual({ ...none, seen: 2, inserted: 1, rejected: 1 });
    await begin(at.store, 'p2');
    const twice = [reject, { ...reject, reason: 'status: boolean' }];
    await at.store.upsertPage(page('p2', [], { rejected: twice, seenAt: new Date('2026-11-22T00:00:00Z') }));
    expect(await at.rows('select * from feedback_rejects')).toEqual([
      {
        project_id: 'prj_1',
        id: 'bad',
        raw: '{"id":"bad","status":7}\uFFFD',
        reason: 'status: boolean',
        seen_at: '2026-11-22T00:00:00.000Z',
      },
    ]);
    expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 1, rejects: 1, tombstones: 0 });
    await wholePass(at.store, 'p3', [entry('bad')]);
    expect(await at.rows('select * from feedback_rejects')).toEqual([]);
    expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 2, rejects: 0, tombstones: 0 });
  });

  it('keeps the last version that could be understood, and notes that the entry still exists', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p1', [entry('bad', { comment: 'kept' })]);
    await at.run("update feedback set deleted_at = '2026-11-21T09:00:00.000Z'");
    await begin(at.store, 'p2');
    const seenAt = new Date('2026-11-22T00:00:00Z');
    const { counts } = await at.store.upsertPage(page('p2', [], { rejected: [reject], seenAt }));
    expect(counts).toEqual({ ...none, seen: 1, rejected: 1 });
    expect(await at.rows('select comment, last_seen_at, deleted_at from feedback')).toEqual([
      { comment: 'kept', last_seen_at: '2026-11-22T00:00:00.000Z', deleted_at: null },
    ]);
  });
});

describe('the position', () => {
  it('moves with the page, and counters add up over pages', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    const first = await at.store.upsertPage(page('p', [entry('a')], { nextCursor: 'c1', hasMore: true }));
    expect(first.position).toEqual({ page: 1, cursor: 'c1', complete: false });
    expect((await at.store.getPass('p'))?.position).toEqual(first.position);
    const last = await at.store.upsertPage(page('p', [entry('a'), entry('b')], { from: first.position }));
    expect(last.position).toEqual({ page: 2, cursor: null, complete: true });
    expect(await at.store.getPass('p')).toMatchObject({
      pages: 2,
      position: last.position,
      entries: { ...none, seen: 3, inserted: 2, unchanged: 1 },
    });
  });

  it('refuses a page read from anywhere else', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    const from = (await at.store.upsertPage(page('p', [], { nextCursor: 'c1', hasMore: true }))).position;
    const others = [
      { page: 0, cursor: null, complete: false },
      { ...from, page: 2 },
      { ...from, cursor: 'c2' },
      { ...from, cursor: null },
      { ...from, complete: true },
    ];
    for (const other of others) {
      await expect(at.store.upsertPage(page('p', [entry('x')], { from: other }))).rejects.toThrow(StalePosition);
    }
    expect(await at.rows('select * from feedback')).toEqual([]);
    const { position } = await at.store.upsertPage(page('p', [], { from }));
    await expect(at.store.upsertPage(page('p', [entry('x')], { from: position }))).rejects.toThrow(StalePosition);
  });

  it('refuses a page for a pass that has ended, and for one that never began', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await at.store.finishPass('p', { ...finished, outcome: 'cancelled' });
    await expect(at.store.upsertPage(page('p', [entry('x')]))).rejects.toThrow('has ended (cancelled)');
    await expect(at.store.upsertPage(page('unknown', [entry('x')]))).rejects.toThrow('no sync pass unknown');
    expect(await at.rows('select * from feedback')).toEqual([]);
  });

  it('never takes a page without a cursor for the last one when more is promised', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await expect(at.store.upsertPage(page('p', [entry('x')], { hasMore: true }))).rejects.toThrow('has no cursor');
    expect((await at.store.getPass('p'))?.position).toEqual({ page: 0, cursor: null, complete: false });
  });

  it('notices a cursor seen at any time before in the pass, and writes nothing then', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    let from = (await begin(at.store, 'p')).position;
    for (const cursor of ['a', 'b', 'c']) {
      from = (await at.store.upsertPage(page('p', [], { from, nextCursor: cursor, hasMore: true }))).position;
    }
    for (const cursor of ['a', 'c']) {
      const repeated = page('p', [entry('x')], { from, nextCursor: cursor, hasMore: true });
      await expect(at.store.upsertPage(repeated)).rejects.toThrow(RepeatedCursor);
    }
    expect(await at.rows('select * from feedback')).toEqual([]);
    expect((await at.store.getPass('p'))?.position).toEqual(from);
    await at.store.upsertPage(page('p', [], { from, nextCursor: 'd', hasMore: true }));
  });

  it('lets another pass use the same cursors, and forgets those of a pass that has ended', async () => {
    await using at = await temporaryStore();
    for (const passId of ['p', 'q']) {
      await begin(at.store, passId);
      await at.store.upsertPage(page(passId, [], { nextCursor: 'a', hasMore: true }));
    }
    await at.store.finishPass('p', { ...finished, outcome: 'failed', error: 'ServerError: 500' });
    expect(await at.rows('select pass_id from sync_cursors')).toEqual([{ pass_id: 'q' }]);
    expect(JSON.stringify(await at.rows('select digest from sync_cursors'))).toMatch(/"[0-9a-f]{32}"/);
  });
});

describe('a transaction that fails in the middle', () => {
  it('leaves rows, rejects, history, counters and position as they were', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'before', [entry('e')]);
    await begin(at.store, 'p');
    const tables = ['feedback', 'feedback_rejects', 'feedback_changes', 'sync_passes', 'sync_cursors'];
    const everything = () => Promise.all(tables.map((table) => at.rows(`select * from ${table}`)));
    const before = await everything();
    // The counters are written last: everything else has been written when this column is missed.
    await at.run('alter table sync_passes rename column seen to gone');
    const commit = page('p', [entry('e', { status: 'resolved' }), entry('new')], {
      rejected: [{ id: 'r', raw: '{}', reason: 'path: missing' }],
      nextCursor: 'c',
      hasMore: true,
    });
    await expect(at.store.upsertPage(commit)).rejects.toThrow(/no such column|42703/);
    await at.run('alter table sync_passes rename column gone to seen');
    expect(await everything()).toEqual(before);
    const { counts } = await at.store.upsertPage(commit);
    expect(counts).toEqual({ ...none, seen: 3, inserted: 1, updated: 1, rejected: 1 });
  });
});

describe('the greatest createdAt', () => {
  it('ignores what cannot be understood and what lies more than a day after the start of the pass', async () => {
    await using at = await temporaryStore();
    const inADay = new Date(startedAt.getTime() + 86_400_000).toISOString();
    const pass = await wholePass(at.store, 'p', [
      entry('odd', { createdAt: 'zzzz' }),
      entry('null', { createdAt: null }),
      entry('future', { createdAt: new Date(startedAt.getTime() + 86_400_001).toISOString() }),
      entry('edge', { createdAt: inADay }),
      entry('old', { createdAt: '2020-01-01' }),
    ]);
    expect(pass.greatestCreatedAt).toBe(inADay);
    expect(await at.rows("select created_at_utc from feedback where id = 'future'")).toEqual([
      { created_at_utc: new Date(startedAt.getTime() + 86_400_001).toISOString() },
    ]);
  });

  it('never goes back from page to page, and stays null without dates', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    const from = (
      await at.store.upsertPage(
        page('p', [entry('a', { createdAt: '2026-11-20T00:00:00Z' })], { nextCursor: 'c', hasMore: true }),
      )
    ).position;
    await at.store.upsertPage(page('p', [entry('b', { createdAt: '2026-11-19T00:00:00Z' })], { from }));
    expect((await at.store.getPass('p'))?.greatestCreatedAt).toBe('2026-11-20T00:00:00.000Z');
    const other = await wholePass(at.store, 'q', [entry('n', { createdAt: null })]);
    expect(other.greatestCreatedAt).toBeNull();
  });
});
