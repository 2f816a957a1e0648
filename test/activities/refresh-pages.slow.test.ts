import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { mostInAnyWindow, type SandboxOptions } from '../../sandbox/index.ts';
import { Database } from '../../src/sqlite.ts';
import type { ActivityScene } from '../tools/activity-dependencies.ts';
import { compareWithTruth } from '../tools/feedback/feedback-truth.ts';
import { hourMs, refresh, refreshScene } from '../tools/feedback/refresh-run.ts';

/*
 * Whatever the service does, `refresh` finds all that happened, tombstones nothing that is there, and sends at most the
 * limit in any window (S1, S4, B1). Hours pass between its runs, but not for the tests.
 */

const runMs = hourMs / 2;
/** So many runs with changes before each, and the most runs after the last change. */
const [changing, most] = [6, 96];
const limit = 100;

const profiles: Record<string, SandboxOptions> = {
  'as it should be': {},
  'the status filter ignored': { faults: { ignoreStatus: true } },
  'dates ignored': { faults: { ignoreDates: true } },
  'status filter and dates ignored': { faults: { ignoreDates: true, ignoreStatus: true } },
  'the oldest first': { order: 'oldest' },
  'no order within a page': { faults: { unordered: true } },
  'pages of 30': { faults: { pageLimit: 30 } },
  'pages of 7': { faults: { pageLimit: 7 } },
  'the oldest first, pages of 30': { order: 'oldest', faults: { pageLimit: 30 } },
  'date-times as dates': { dateTimes: 'as-dates' },
  'date-times as dates, the oldest first': { dateTimes: 'as-dates', order: 'oldest' },
  'date-times as dates of another zone, dateFrom exclusive': {
    dateTimes: 'as-dates',
    dateFrom: 'exclusive',
    dateOffset: '+05:30',
  },
  'days of more than a page': { dateTimes: 'as-dates', days: 3 },
  'a clock two hours ahead': { clockSkewMs: 2 * hourMs },
  'a clock two hours behind': { clockSkewMs: -2 * hourMs },
  'dateFrom exclusive': { dateFrom: 'exclusive' },
  'offset cursors': { cursorKind: 'offset' },
  'entries without a date': { nullDates: 0.3 },
  'entries without a date first': { nullDates: 0.1, nulls: 'first' },
  'entries that cannot be understood': { rejects: 0.05 },
  'odd dates': { oddDates: 0.2 },
  'answers that are wrongly empty': { faults: { emptyAnswers: 3 } },
};

let scene: ActivityScene;
afterEach(async () => {
  vi.useRealTimers();
  await scene.end();
});

it.each(Object.entries(profiles))('%s', async (_name, { faults, ...options }) => {
  scene = await refreshScene(
    { entries: 500, days: 60, openShare: 0.1, requests: 1e6, ...options },
    { everyMs: runMs, settings: { requests: limit, reserve: 0, windowMs: hourMs, arrivalMs: 500 } },
  );
  if (faults?.emptyAnswers === undefined) scene.sandbox.setFaults(faults ?? {});
  const moments: number[] = [];
  const run = async () => {
    const before = analytics();
    await refresh(scene);
    // The sandbox's clock never jumps: all requests of a run are taken for its end's.
    moments.push(...Array.from({ length: analytics() - before }, () => Date.now()));
  };
  await run();
  scene.sandbox.setFaults(faults ?? {});
  const ids = idsOf('select id from feedback order by created_at_utc, id');
  const deleted = new Set<string>();
  // While entries come without an id, any of them may be the one that is missing: nothing is tombstoned.
  const surplus = options.rejects === undefined ? 0 : expect.any(Number);
  const known = { missing: 0, different: 0, surplus, unrejected: 0 };
  const isKnown = () => {
    const { entries: _, ...found } = compareWithTruth(scene);
    return Object.values({ ...found, surplus: surplus === 0 ? found.surplus : 0 }).every((count) => count === 0);
  };
  for (let place = 0; place < changing + most && (place < changing || !isKnown()); place += 1) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + runMs });
    if (place < changing) change(place);
    await run();
  }
  expect(compareWithTruth(scene)).toMatchObject(known);
  const gone = idsOf("select distinct id from feedback_changes where field = 'deleted_at' and new is not null");
  expect(gone.filter((id) => !deleted.has(id))).toEqual([]);
  if (surplus === 0) expect(gone).toHaveLength(deleted.size);
  expect(mostInAnyWindow(moments, hourMs)).toBeLessThanOrEqual(limit);

  /** New ones, a closed one, an opened one, an edit and a deletion, of all ages. */
  function change(place: number): void {
    const { sandbox } = scene;
    const at = Date.now() + Number(options.clockSkewMs ?? 0) - 60_000;
    sandbox.addEntries('prj_1', { count: 2, createdAt: new Date(at).toISOString() });
    const left = ids.filter((id) => !deleted.has(id));
    const [closed = '', opened = '', edited = '', lost = ''] = [1, 2, 3, 4].map(
      (n) => left[(place * 97 + n * 193) % left.length],
    );
    sandbox.changeEntries('prj_1', [
      { id: closed, status: 'resolved' },
      { id: opened, status: 'pending' },
      { id: edited, fields: { comment: `edited before run ${place}` } },
    ]);
    sandbox.deleteEntries('prj_1', [lost]);
    deleted.add(lost);
  }
});

const analytics = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics').length;

function idsOf(query: string): string[] {
  const db = new Database(join(scene.folder, 'feedback.db'), { readOnly: true });
  try {
    return db
      .prepare<{ id: string }>(query)
      .all()
      .map(({ id }) => id);
  } finally {
    db.close();
  }
}
