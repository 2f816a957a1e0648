import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { SandboxOptions } from '../../sandbox/index.ts';
import { Database } from '../../src/sqlite.ts';
import { type ActivityScene, activityScene } from '../tools/activity-dependencies.ts';
import { compareWithTruth } from '../tools/feedback/feedback-truth.ts';
import { runPass } from '../tools/feedback/sync-pass.ts';

interface Entry {
  id: string;
  status: string;
  createdAt: string | null;
}

let scene: ActivityScene;
afterEach(async () => {
  await scene?.end();
});

/** Many requests in a short window; what was read is left alone for longer than a test takes. */
const window = { requests: 400, reserve: 0, windowMs: 1_500, arrivalMs: 500 };
const spare = { windowMs: 600_000, scheduled: [] };

async function swept(sandbox: SandboxOptions): Promise<void> {
  scene = await activityScene({ requests: 1_000_000, ...sandbox }, window, { spare });
  await runPass(scene, 'sweep');
  age();
}

/** Makes everything stored look as if it had been seen and complete a day ago. */
function age(): void {
  const db = new Database(join(scene.folder, 'feedback.db'));
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  db.prepare('update feedback set last_seen_at = ?').run(yesterday);
  db.prepare('update verified_ranges set verified_up_to = ?').run(yesterday);
  db.prepare('update sync_passes set started_at = ?').run(yesterday);
  db.close();
}

const dated = () => ([...scene.sandbox.truth('prj_1')] as Entry[]).filter(({ createdAt }) => createdAt !== null);
const same = { missing: 0, different: 0, surplus: 0, unrejected: 0 };
const ranges = async () => (await scene.deps.feedback.verifiedRanges('acme', 'prj_1')).ranges;

describe('a pass with spare requests', () => {
  it('finds what reviews cannot see: closed to other closed, and deletions, confirmed by a second reading', async () => {
    await swept({ entries: 1_500, days: 200 });
    const before = await ranges();
    const closed = dated().filter(({ status }) => status === 'resolved');
    const changed = closed.filter((_, index) => index % 100 === 7).map(({ id }) => ({ id, status: 'dismissed' }));
    const deleted = dated()
      .filter((_, index) => index % 300 === 11)
      .map(({ id }) => id);
    scene.sandbox.changeEntries('prj_1', changed);
    scene.sandbox.deleteEntries('prj_1', deleted);

    const { pages, entries, failure } = await runPass(scene, 'verify');
    expect(failure).toBeNull();
    expect(changed.length).toBeGreaterThan(3);
    const gone = new Set(deleted);
    expect(entries.updated).toBe(changed.filter(({ id }) => !gone.has(id)).length);
    expect(entries.tombstoned).toBe(deleted.length);
    expect(compareWithTruth(scene)).toEqual({ entries: 1_500 - deleted.length, ...same });
    // 17 windows of a page, and a second reading of each in which something was missing.
    expect(pages).toBeGreaterThanOrEqual(17 + deleted.length);
    const after = await ranges();
    const [oldest] = before.map(({ verifiedUpTo }) => verifiedUpTo ?? '').sort();
    expect(after.every(({ verifiedUpTo }) => (verifiedUpTo ?? '') > `${oldest}`)).toBe(true);
    expect(await scene.deps.feedback.everSwept('acme', 'prj_1')).toBe(true);
  });

  it('asks for a page at a time, as the last in the queue, and never forgets what schedules need', async () => {
    await swept({ entries: 500 });
    const asked = scene.asks.length;
    await runPass(scene, 'verify');
    const asks = scene.asks.slice(asked);
    expect(asks.length).toBeGreaterThanOrEqual(6);
    for (const ask of asks) expect(ask).toMatchObject({ class: 'verify', wants: 1, leave: 0 });
  });

  it('ends a run in time when the service is slow, and continues with the next', async () => {
    await swept({ entries: 500 });
    const { permits } = scene.deps;
    const now = performance.now.bind(performance);
    let slow = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + slow);
    // As if each page had taken as long as a request may.
    scene.deps.permits = {
      ask: permits.ask,
      report: async (org, result) => {
        slow += 60_000;
        await permits.report(org, result);
      },
    };
    const pagesOfLegs: number[] = [];
    const { pages } = await runPass(scene, 'verify', { onLeg: (leg) => void pagesOfLegs.push(leg.pages) });
    expect(pages).toBeGreaterThanOrEqual(6);
    // A first run may find nothing spare yet, so soon after a sweep.
    expect(pagesOfLegs.find((read) => read > 0)).toBe(2);
  });

  it('gives way to a person at once', async () => {
    await swept({ entries: 2_000 });
    let waits: number | null = null;
    const { pages } = await runPass(scene, 'verify', {
      onLeg: async ({ pages: read }) => {
        if (read >= 3 && waits === null) waits = (await runPass(scene, 'incremental')).waits;
      },
    });
    expect(waits).toBe(0);
    expect(pages).toBeGreaterThan(3);
  });

  it('leaves a project alone that was never swept, and what was read just now', async () => {
    scene = await activityScene({ entries: 300 }, window, { spare });
    expect(await runPass(scene, 'verify')).toMatchObject({ failure: null, pages: 0, requests: 0 });
    await runPass(scene, 'sweep');
    expect(await runPass(scene, 'verify')).toMatchObject({ failure: null, pages: 0, requests: 0 });
  });

  it('reads and verifies also where the service takes date-times for their dates', async () => {
    await swept({ entries: 800, days: 30, dateTimes: 'as-dates', dateOffset: '-07:00', dateFrom: 'exclusive' });
    // The windows of a review show how the service understands bounds.
    scene.sandbox.changeEntries(
      'prj_1',
      dated()
        .filter(({ status }) => status === 'pending')
        .slice(0, 3)
        .map(({ id }) => ({ id, status: 'resolved' })),
    );
    await runPass(scene, 'review');
    const [some] = dated().filter(({ status }) => status === 'resolved');
    scene.sandbox.changeEntries('prj_1', [{ id: `${some?.id}`, status: 'dismissed' }]);
    scene.sandbox.deleteEntries('prj_1', [`${dated()[400]?.id}`]);
    age();
    expect((await runPass(scene, 'verify')).failure).toBeNull();
    expect(compareWithTruth(scene)).toEqual({ entries: 799, ...same });
  });

  it('is no sweep: neither the watermark nor the plan of the budget counts it', async () => {
    await swept({ entries: 300 });
    const { feedback } = scene.deps;
    const [watermark, activity] = [
      await feedback.watermark('acme', 'prj_1'),
      await feedback.projectActivity('acme', 'prj_1'),
    ];
    scene.sandbox.addEntries('prj_1', { count: 20 });
    expect((await runPass(scene, 'verify')).entries.inserted).toBe(20);
    expect(await feedback.watermark('acme', 'prj_1')).toBe(watermark);
    const after = await feedback.projectActivity('acme', 'prj_1');
    expect([after.readUpTo, after.runs]).toEqual([activity.readUpTo, activity.runs]);
  });
});
