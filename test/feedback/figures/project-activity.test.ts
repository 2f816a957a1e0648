import { describe, expect, it } from 'vitest';
import { begin, entry, finished, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const none = { incremental: [], review: [], sweep: [] };

describe('projectActivity', () => {
  it('counts what is stored, and what came in the 28 days before the last completed pass', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [
      entry('1', { createdAt: '2026-11-21T07:59:59Z' }),
      entry('2', { createdAt: '2026-10-24T08:00:01Z', status: 'in_progress' }),
      entry('3', { createdAt: '2026-10-24T08:00:00Z', status: 'resolved' }),
      entry('4', { createdAt: '2024-02-29', status: 'dismissed' }),
      entry('5', { createdAt: 'lately' }),
      entry('late', { createdAt: '2026-11-21T08:00:01Z', status: 'resolved' }),
      entry('gone', { createdAt: '2026-11-20T00:00:00Z' }),
    ]);
    await at.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id = 'gone'");
    await wholePass(at.store, 'q', [entry('else')], { project: 'prj_2' });
    expect(await at.store.projectActivity('acme', 'prj_1')).toEqual({
      entries: 6,
      open: 3,
      readUpTo: '2026-11-21T08:00:00.000Z',
      oldest: '2024-02-29T00:00:00.000Z',
      recent: 3,
      runs: { ...none, sweep: [{ startedAt: '2026-11-21T08:00:00.000Z', requests: 1 }] },
    });
  });

  it('knows what whole passes cost, newest first, and leaves out those that say nothing about the next one', async () => {
    await using at = await temporaryStore();
    const incremental = { pass: 'incremental', dateFrom: '2026-11-20T08:00:00.000Z' } as const;
    const pass = async (id: string, startedAt: string, requests: number, over: Parameters<typeof begin>[2]) => {
      await begin(at.store, id, { ...over, startedAt: new Date(startedAt) });
      await at.store.upsertPage(page(id, [], { requests }));
      await at.store.finishPass(id, finished);
    };
    await pass('first, of everything', '2026-11-20T08:00:00Z', 250, { pass: 'incremental' });
    await pass('older', '2026-11-20T09:00:00Z', 3, incremental);
    await pass('newer', '2026-11-20T10:00:00Z', 4, incremental);
    await pass('up to a day', '2026-11-20T11:00:00Z', 2, { ...incremental, dateTo: '2026-11-20T09:00:00.000Z' });
    await pass('from a day on', '2026-11-20T11:30:00Z', 9, { dateFrom: '2026-11-01T00:00:00.000Z' });
    await pass('review', '2026-11-20T12:00:00Z', 7, { pass: 'review' });
    await begin(at.store, 'failed', { ...incremental, startedAt: new Date('2026-11-20T13:00:00Z') });
    await at.store.finishPass('failed', { ...finished, outcome: 'failed', error: 'BadPage: page 1' });
    await begin(at.store, 'going on', { startedAt: new Date('2026-11-20T14:00:00Z') });
    const activity = await at.store.projectActivity('acme', 'prj_1');
    expect(activity.runs).toEqual({
      incremental: [
        { startedAt: '2026-11-20T10:00:00.000Z', requests: 4 },
        { startedAt: '2026-11-20T09:00:00.000Z', requests: 3 },
      ],
      review: [{ startedAt: '2026-11-20T12:00:00.000Z', requests: 7 }],
      sweep: [],
    });
    expect(activity.readUpTo).toBe('2026-11-20T11:30:00.000Z');
  });

  it('gives the last twenty runs', async () => {
    await using at = await temporaryStore();
    for (let n = 10; n < 35; n += 1) {
      await wholePass(at.store, `${n}`, [], { pass: 'review', startedAt: new Date(`2026-11-20T10:00:${n}Z`) });
    }
    const { review } = (await at.store.projectActivity('acme', 'prj_1')).runs;
    expect(review).toHaveLength(20);
    expect(review[0]?.startedAt).toBe('2026-11-20T10:00:34.000Z');
  });

  it('is empty before the first sync', async () => {
    await using at = await temporaryStore();
    const nothing = { entries: 0, open: 0, readUpTo: null, oldest: null, recent: 0, runs: none };
    expect(await at.store.projectActivity('acme', 'prj_1')).toEqual(nothing);
  });
});
