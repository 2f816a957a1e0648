import { describe, expect, it } from 'vitest';
import type { ReportQuery } from '../../../src/feedback/rules/report-figures.ts';
import { begin, entry, finished, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';
import { nothing, now } from '../report/figures.ts';

const query: ReportQuery = {
  org: 'acme',
  project: 'prj_1',
  comments: 10,
  now,
};

const vote = (id: string, path: string, helpful: boolean, createdAt = '2026-11-20T10:00:00Z') =>
  entry(id, { source: 'contextual', path, helpful, createdAt });

describe('reportFigures', () => {
  it('holds no more than the beginning of a text that goes on without end', async () => {
    await using at = await temporaryStore();
    const endless = (kind: string) => `/${kind}${'x'.repeat(1_000_000)}`;
    await wholePass(at.store, 'p', [
      vote('1', endless('voted'), false),
      entry('2', { source: 'agent', path: endless('agents'), status: endless('status'), comment: 'word' }),
    ]);
    const figures = await at.store.reportFigures(query);
    expect(JSON.stringify(figures).length).toBeLessThan(50_000);
    expect(figures.worst[0]?.path).toBe(endless('voted').slice(0, 2_400));
  });

  it('counts by interval of the axis, source, status and vote', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [
      vote('1', '/bad', false),
      vote('2', '/bad', false),
      vote('3', '/bad', true, '2026-11-19T00:00:00Z'),
      vote('4', '/good', true, '2026-11-19T23:59:59.999Z'),
      entry('5', { source: 'agent', status: 'resolved' }),
      entry('future', { createdAt: '2027-01-01' }),
      entry('undated', { createdAt: 'lately', status: 'in_progress' }),
      vote('gone', '/gone', false),
    ]);
    await wholePass(at.store, 'q', [vote('else', '/else', false)], { project: 'prj_2' });
    await at.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id = 'gone'");
    const figures = await at.store.reportFigures(query);
    expect(figures).toMatchObject({
      entries: 7,
      undated: 1,
      undatedLeftOut: 0,
      outsideAxis: 1,
      axis: { unit: 'day', starts: ['2026-11-19', '2026-11-20', '2026-11-21'].map((day) => `${day}T00:00:00.000Z`) },
      sources: [
        { name: 'contextual', entries: 4, over: [2, 2, 0] },
        { name: 'thumbs_only', entries: 2, over: [0, 0, 0] },
        { name: 'agent', entries: 1, over: [0, 1, 0] },
      ],
      statuses: [
        { name: 'pending', entries: 5, over: [2, 2, 0] },
        { name: 'in_progress', entries: 1, over: [0, 0, 0] },
        { name: 'resolved', entries: 1, over: [0, 1, 0] },
      ],
      open: { entries: 6, oldest: '2026-11-19T00:00:00.000Z' },
      helpful: { yes: 2, no: 2 },
      helpfulOver: [
        { yes: 2, no: 0 },
        { yes: 0, no: 2 },
        { yes: 0, no: 0 },
      ],
      votedPages: 2,
      mostVoted: [
        { path: '/bad', yes: 1, no: 2 },
        { path: '/good', yes: 1, no: 0 },
      ],
      worst: [{ path: '/bad', yes: 1, no: 2 }],
    });
  });

  it('keeps to the bounds, and says what they leave out for having no date', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [
      vote('before', '/a', false, '2026-10-31T23:59:59.999Z'),
      vote('in', '/a', true, '2026-11-01T00:00:00Z'),
      vote('after', '/a', false, '2026-11-02T00:00:00Z'),
      entry('undated', { createdAt: null, comment: 'when?' }),
    ]);
    const bounds = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z' };
    const figures = await at.store.reportFigures({ ...query, ...bounds });
    expect(figures).toMatchObject({
      entries: 1,
      undated: 0,
      undatedLeftOut: 1,
      helpful: { yes: 1, no: 0 },
      recent: [],
    });
    expect(figures.axis).toMatchObject({ unit: 'day', end: bounds.to });
  });

  it('tells the most frequent of many sources apart and sums up the others', async () => {
    await using at = await temporaryStore();
    const entries = Array.from({ length: 10 }, (_, n) =>
      Array.from({ length: n + 1 }, (_, m) => entry(`${n}-${m}`, { source: `source-${n}` })),
    );
    await wholePass(at.store, 'p', entries.flat());
    const { sources } = await at.store.reportFigures(query);
    expect(sources.map(({ name, entries }) => [name, entries])).toEqual([
      ['source-9', 10],
      ['source-8', 9],
      ['source-7', 8],
      ['source-6', 7],
      ['source-5', 6],
      ['source-4', 5],
      [null, 10],
    ]);
    expect(sources.at(-1)?.over).toEqual([10, 0]);
  });

  it('takes the time to a closing from what passes saw change, by nearest rank', async () => {
    await using at = await temporaryStore();
    const created = '2026-11-01T00:00:00Z';
    const ids = ['1', '2', '3', '4', 'reopened', 'future', 'still open'];
    const open = ids.map((id) => entry(id, { createdAt: id === 'future' ? '2027-01-01' : created }));
    const startedAt = new Date(created);
    await begin(at.store, 'first', { startedAt });
    await at.store.upsertPage(
      page('first', [...open, entry('closed before', { createdAt: created, status: 'resolved' })], {
        seenAt: startedAt,
      }),
    );
    const close = async (passId: string, seenAt: string, changed: string[], status = 'resolved') => {
      await begin(at.store, passId, { pass: 'incremental', startedAt: new Date(Date.parse(seenAt) - 1) });
      const entries = open.filter(({ id }) => changed.includes(id)).map((one) => ({ ...one, status }));
      await at.store.upsertPage(page(passId, entries, { seenAt: new Date(seenAt) }));
      await at.store.finishPass(passId, finished);
    };
    await close('a', '2026-11-02T00:00:00Z', ['1', 'reopened']);
    await close('b', '2026-11-03T12:00:00Z', ['2', '3', 'future'], 'dismissed');
    await close('c', '2026-11-04T00:00:00Z', ['reopened'], 'pending');
    await close('d', '2026-11-11T00:00:00Z', ['4', 'reopened']);
    const { waits, waitsOver, axis } = await at.store.reportFigures(query);
    const hours = (count: number) => count * 3_600_000;
    expect(waits).toEqual({ closed: 5, medianMs: hours(60), p90Ms: hours(240) });
    const byDay = Object.fromEntries(waitsOver.map((wait, index) => [axis?.starts[index]?.slice(0, 10), wait]));
    expect(byDay['2026-11-02']).toEqual({ closed: 1, medianMs: hours(24), p90Ms: hours(24) });
    expect(byDay['2026-11-03']).toEqual({ closed: 2, medianMs: hours(60), p90Ms: hours(60) });
    expect(byDay['2026-11-04']).toBeNull();
    expect(byDay['2026-11-11']).toEqual({ closed: 2, medianMs: hours(240), p90Ms: hours(240) });
    const bounded = await at.store.reportFigures({ ...query, to: '2026-11-04T00:00:00.000Z' });
    expect(bounded.waits).toEqual({ closed: 3, medianMs: hours(60), p90Ms: hours(60) });
    // Nothing was created in this range, or only long after the first closing.
    const since = { ...query, from: '2026-11-03T00:00:00.000Z' };
    const closingsBy = async () => {
      const { waitsOver, axis, waits } = await at.store.reportFigures(since);
      const shown = waitsOver.flatMap((wait, part) =>
        wait === null ? [] : [[axis?.starts[part]?.slice(0, 10), wait.closed]],
      );
      return [waits?.closed, shown];
    };
    const both = [
      4,
      [
        ['2026-11-03', 2],
        ['2026-11-11', 2],
      ],
    ];
    expect(await closingsBy()).toEqual(both);
    await begin(at.store, 'late', { pass: 'incremental' });
    await at.store.upsertPage(page('late', [entry('late')]));
    expect(await closingsBy()).toEqual(both);
    const none = await at.store.reportFigures({ ...query, from: '2026-11-21T00:00:00.000Z' });
    expect([none.axis, none.waits]).toEqual([null, null]);
  });

  it('names what agents say most often on the pages they complain about most', async () => {
    await using at = await temporaryStore();
    const said = (id: string, path: string, comment: string | null, status = 'pending') =>
      entry(id, { source: 'agent', path, comment, status });
    await wholePass(at.store, 'p', [
      said('1', '/a', 'twice'),
      said('2', '/a', 'twice', 'resolved'),
      said('3', '/a', 'once'),
      said('4', '/b', '  '),
      said('5', '/b', null),
      said('6', '/c', 'x'.repeat(5_000)),
      entry('7', { path: '/a', comment: 'not an agent' }),
    ]);
    const { agents } = await at.store.reportFigures(query);
    const silent = await at.store.reportFigures({ ...query, comments: 0 });
    expect(silent.agents.pages.flatMap(({ complaints }) => complaints)).toEqual([]);
    expect(agents).toEqual({
      entries: 6,
      paths: 3,
      pages: [
        {
          path: '/a',
          entries: 3,
          open: 2,
          complaints: [
            { text: 'twice', cut: 0, times: 2 },
            { text: 'once', cut: 0, times: 1 },
          ],
        },
        { path: '/b', entries: 2, open: 2, complaints: [] },
        { path: '/c', entries: 1, open: 1, complaints: [{ text: 'x'.repeat(1_200), cut: 3_800, times: 1 }] },
      ],
    });
  });

  it('has the newest comments, cut, undated ones last, without contacts and code', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [
      entry('old', { comment: 'old', createdAt: '2026-11-01T00:00:00Z' }),
      entry('new', { comment: '👍'.repeat(1_201), source: 'contextual', helpful: true, contact: 'PRIVATE@b.example' }),
      entry('undated', { comment: 'when?', createdAt: null, code: 'PRIVATE()' }),
      entry('silent'),
    ]);
    const figures = await at.store.reportFigures(query);
    expect(figures.commented).toBe(3);
    expect(figures.recent).toEqual([
      {
        text: '👍'.repeat(1_200),
        cut: 1,
        path: '/docs/start',
        source: 'contextual',
        status: 'pending',
        helpful: true,
        createdAt: '2026-11-20T10:00:00.000Z',
      },
      expect.objectContaining({ text: 'old', helpful: null }),
      expect.objectContaining({ text: 'when?', createdAt: null }),
    ]);
    expect(JSON.stringify(figures)).not.toContain('PRIVATE');
    const fewer = await at.store.reportFigures({ ...query, comments: 1 });
    expect([fewer.commented, fewer.recent.length]).toEqual([3, 1]);
    expect((await at.store.reportFigures({ ...query, comments: 0 })).recent).toEqual([]);
  });

  it('is empty before the first sync', async () => {
    await using at = await temporaryStore();
    expect(await at.store.reportFigures(query)).toEqual(nothing);
  });
});
