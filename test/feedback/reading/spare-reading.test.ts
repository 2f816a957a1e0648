import { describe, expect, it } from 'vitest';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import { isoText } from '../../../src/feedback/rules/slice.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { begin, entry, finished, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const minute = 60_000;
const hour = 60 * minute;
const base = Date.parse('2026-11-01T00:00:00Z');
/** Two hours after the sweep of `wholePass`. */
const at = new Date('2026-11-21T10:00:00Z');
const restMs = hour;

/** Entry number `n`, a minute after the one before; 90 are a window. */
const numbered = (n: number, over: Partial<FeedbackEntry> = {}) =>
  entry(`e${n}`, { createdAt: isoText(base + n * minute), status: 'resolved', ...over });
const entries = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => numbered(from + i));

async function verify(store: FeedbackStore, passId: string): Promise<void> {
  await begin(store, passId, { pass: 'verify', startedAt: at, slices: [] });
  await store.planSpare(passId, { at, restMs });
}

/** Reads the current slice in one page. */
async function read(
  store: FeedbackStore,
  passId: string,
  sent: FeedbackEntry[],
  seenAt = new Date(at.getTime() + 1_000),
) {
  const row = await store.getPass(passId);
  if (row === null) throw new Error('no such pass');
  const askedAt = new Date(seenAt.getTime() - 10);
  await store.upsertPage(page(passId, sent, { from: row.position, seenAt, askedAt, mayCheck: true }));
}

const isComplete = async (store: FeedbackStore, passId: string) => (await store.getPass(passId))?.position.complete;
const bounds = async (store: FeedbackStore, passId: string) =>
  (await store.listSlices(passId)).map(({ stage, dateFrom, dateTo }) => [stage, dateFrom, dateTo]);
const moment = (n: number, plusMs = 0) => isoText(base + n * minute + plusMs);

describe('what a pass with spare requests reads', () => {
  it('is nothing while the project was never swept, or was checked just now', async () => {
    await using here = await temporaryStore();
    await wholePass(here.store, 'i', entries(0, 10), { pass: 'incremental' });
    await verify(here.store, 'v');
    expect(await isComplete(here.store, 'v')).toBe(true);
    expect(await here.store.finishPass('v', finished)).toMatchObject({ outcome: 'completed', pages: 0 });

    await wholePass(here.store, 's', entries(0, 10));
    await begin(here.store, 'w', { pass: 'verify', startedAt: at, slices: [] });
    await here.store.planSpare('w', { at: new Date('2026-11-21T08:30:00Z'), restMs });
    expect(await isComplete(here.store, 'w')).toBe(true);
  });

  it('is windows of a page that reach to their neighbours, those with changes first, planned once', async () => {
    await using here = await temporaryStore();
    await wholePass(here.store, 's', entries(0, 200));
    await here.run(
      "insert into feedback_changes (project_id, id, field, old, new, seen_at) values ('prj_1', 'e100', 'status', 'pending', 'resolved', '2026-11-21T08:00:05.000Z')",
    );
    await verify(here.store, 'v');
    await here.store.planSpare('v', { at, restMs });
    // 90, 90 and 20 entries: more entries weigh more, of equals the first.
    expect(await bounds(here.store, 'v')).toEqual([
      ['read', moment(89, -1), moment(180, 1)],
      ['read', null, moment(90, 1)],
      ['read', moment(179, -1), null],
    ]);
    expect(await here.store.getPass('v')).toMatchObject({ expectedPages: 3, position: { complete: false } });
  });

  it('verifies each window, and completes when none is left', async () => {
    await using here = await temporaryStore();
    await wholePass(here.store, 's', entries(0, 200));
    await verify(here.store, 'v');
    await read(here.store, 'v', entries(0, 91));
    await read(here.store, 'v', entries(89, 181), new Date(at.getTime() + 2_000));
    expect((await here.store.verifiedRanges('acme', 'prj_1')).ranges).toEqual([
      { from: null, to: moment(89), verifiedUpTo: '2026-11-21T10:00:00.990Z' },
      { from: moment(89), to: moment(180), verifiedUpTo: '2026-11-21T10:00:01.990Z' },
      { from: moment(180), to: null, verifiedUpTo: '2026-11-21T08:00:00.000Z' },
    ]);
    await read(here.store, 'v', entries(179, 200), new Date(at.getTime() + 3_000));
    expect(await isComplete(here.store, 'v')).toBe(false);
    await here.store.planSpare('v', { at: new Date(at.getTime() + minute), restMs });
    expect(await isComplete(here.store, 'v')).toBe(true);
    expect(await here.store.watermark('acme', 'prj_1')).toBe(moment(199));
    expect(await here.store.projectActivity('acme', 'prj_1')).toMatchObject({ readUpTo: '2026-11-21T08:00:00.000Z' });
  });

  it('is read a second time where something is missing; what is missing then too is gone', async () => {
    await using here = await temporaryStore();
    await wholePass(here.store, 's', entries(0, 120));
    await verify(here.store, 'v');
    const without = (...gone: number[]) => entries(0, 91).filter(({ id }) => !gone.some((n) => id === `e${n}`));
    await read(here.store, 'v', without(7, 8));
    expect(await bounds(here.store, 'v')).toEqual([
      ['read', null, moment(90, 1)],
      ['read', moment(89, -1), null],
      ['again', null, moment(90, 1)],
    ]);
    await read(here.store, 'v', entries(89, 120));
    expect(await here.store.countEntries('acme', 'prj_1')).toMatchObject({ tombstones: 0 });
    // One of them had slipped through.
    await read(here.store, 'v', without(7), new Date(at.getTime() + 5_000));
    expect(await here.rows('select id from feedback where deleted_at is not null')).toEqual([{ id: 'e7' }]);
    expect((await here.store.getPass('v'))?.entries).toMatchObject({ tombstoned: 1, updated: 0 });
  });

  it('does not take for gone what lies outside of what was returned', async () => {
    await using here = await temporaryStore();
    await wholePass(here.store, 's', entries(0, 120));
    await verify(here.store, 'v');
    // The service leaves out the end of the window: it may have taken the bound for an earlier one.
    for (let readings = 0; readings < 3; readings += 1) {
      const slice = await here.store.currentSlice('v');
      if (slice === null) break;
      await read(here.store, 'v', slice.dateFrom === null ? entries(0, 80) : entries(89, 120));
    }
    expect(await here.store.countEntries('acme', 'prj_1')).toMatchObject({ tombstones: 0 });
  });
});

describe('latestCosts', () => {
  it('are those of the latest whole run of each kind, project by project', async () => {
    await using here = await temporaryStore();
    const pass = async (id: string, hours: number, requests: number, over: Parameters<typeof begin>[2]) => {
      await begin(here.store, id, { ...over, startedAt: new Date(base + hours * hour) });
      await here.store.upsertPage(page(id, [], { requests }));
      await here.store.finishPass(id, finished);
    };
    const incremental = { pass: 'incremental', dateFrom: '2026-10-31T00:00:00.000Z' } as const;
    await pass('everything', 1, 250, { pass: 'incremental' });
    await pass('older', 2, 3, incremental);
    await pass('newer', 3, 4, incremental);
    await pass('part', 4, 9, { dateFrom: '2026-10-31T00:00:00.000Z' });
    await pass('other', 5, 7, { pass: 'review', project: 'prj_2' });
    await begin(here.store, 'running', { ...incremental, startedAt: new Date(base + 9 * hour) });
    const costs = await here.store.latestCosts('acme');
    expect(costs.sort((a, b) => (a.project < b.project ? -1 : 1))).toEqual([
      { project: 'prj_1', pass: 'incremental', requests: 4 },
      { project: 'prj_2', pass: 'review', requests: 7 },
    ]);
  });
});
