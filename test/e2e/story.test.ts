import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ExportResult } from '../../src/exports/rules/site-export.ts';
import type { PassKind, SyncResult } from '../../src/feedback/rules/sync.ts';
import { openSqliteFeedbackStore } from '../../src/feedback/store/sqlite-store.ts';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { storedFeedback } from '../tools/feedback/stored-feedback.ts';
import { type Scene, type SceneOptions, setScene } from '../tools/scene.ts';
import { devServerEnvironment } from '../tools/temporal/temporal.ts';
import { replayChains } from '../tools/temporal/workflow-run.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

async function begin(options: SceneOptions): Promise<Scene> {
  scene = await setScene(options);
  await scene.startWorker();
  return scene;
}

async function exportSite(parameters = {}): Promise<ExportResult> {
  const { client, taskQueue, org, domain } = scene;
  return (await startExport(client, taskQueue, { org, domain, parameters }, 'join')).handle.result();
}

async function sync(pass: PassKind): Promise<SyncResult> {
  const { client, taskQueue, org, project } = scene;
  return (await startSync(client, taskQueue, { org, project, pass })).result();
}

/** Every run of this scene can be replayed by the current code (X2). */
async function replayAll(): Promise<void> {
  const env = await devServerEnvironment();
  const query = `DocferryOrg = "${scene.org}"`;
  await expect.poll(async () => (await scene.client.workflow.count(query)).count).toBeGreaterThan(0);
  await replayChains(env, scene.client.workflow.list({ query }));
}

describe('the whole thread on a real server', () => {
  it('exports, verifies, publishes and rolls out a site; again only what changed', async () => {
    await begin({ sandbox: { jobSeconds: 2, pages: 12 } });
    const first = await exportSite();
    expect(first).toMatchObject({
      outcome: 'published',
      jobsStarted: 1,
      linksRequested: 1,
      archive: { format: 'tar.gz' },
      rollouts: [{ outcome: 'rolled-out' }],
    });
    expect(first.pages).toBeGreaterThanOrEqual(12);
    expect(first.polls).toBeLessThanOrEqual(4);
    const { version } = first;
    expect(await readlink(join(scene.folder, 'site', 'current'))).toBe(`releases/${version}`);
    expect(await readFile(join(scene.folder, 'site', 'current', 'index.html'), 'utf8')).toContain('<html');
    const bundles = join(scene.folder, 'data', 'bundles', scene.domain);
    const manifest = JSON.parse(await readFile(join(bundles, 'versions', `${version}`, 'manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ version, contentDigest: first.contentDigest, source: { jobId: first.jobId } });
    expect(JSON.parse(await readFile(join(bundles, 'current.json'), 'utf8'))).toMatchObject({ version, epoch: 1 });

    const second = await exportSite();
    expect(second).toMatchObject({
      outcome: 'unchanged',
      version,
      url: first.url,
      rollouts: [{ outcome: 'already-current' }],
    });

    scene.sandbox.publishRevision(scene.domain);
    const third = await exportSite();
    expect(third.outcome).toBe('published');
    expect(third.version).not.toBe(version);
    expect(JSON.parse(await readFile(join(bundles, 'current.json'), 'utf8'))).toMatchObject({ epoch: 2 });
    expect(scene.sandbox.log().some((entry) => entry.port === 'storage' && entry.hadAuthorization)).toBe(false);
    await replayAll();
  });

  it('stores every entry exactly once and keeps to 10 requests in any 10 s (B1, S1)', async () => {
    await begin({
      sandbox: { entries: 3_000, requests: 10, windowMs: 10_000, rejects: 0.01, drift: 0.02 },
      budget: '{ requests: 10, window: 10s, arrival: 2s }',
    });
    const result = await sync('sweep');
    expect(result).toMatchObject({ pages: 30, throttled: 0, entries: { seen: 3_000 } });
    // A busy machine may lose the time of a permit or an answer: a page is asked for again.
    expect(result.requests).toBe(scene.sandbox.log().filter(({ kind }) => kind === 'analytics').length);
    const { kept, rejected } = storedFeedback(scene);
    const truth = [...scene.sandbox.truth(scene.project)] as { id?: unknown; status?: unknown }[];
    // Entries that are not objects and read the same, such as two nulls, are kept aside once.
    const distinct = new Set(truth.map((entry) => (typeof entry?.id === 'string' ? entry.id : JSON.stringify(entry))));
    expect(kept.size + rejected.size).toBe(distinct.size);
    expect(rejected.size).toBeGreaterThan(0);
    for (const entry of truth) {
      const row = typeof entry?.id === 'string' ? kept.get(entry.id) : undefined;
      if (row) expect(row).toMatchObject({ status: entry.status });
    }
    expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(10);
    expect(scene.sandbox.log().filter((entry) => entry.status === 429)).toEqual([]);
    await replayAll();
  });

  it('sees changes of status in a review, and what is gone in a sweep; both say what is proved (S4, S5)', async () => {
    await begin({ sandbox: { entries: 2_000, nullDates: 0 } });
    const first = await sync('sweep');
    expect(first).toMatchObject({ pages: 20, requests: 21, entries: { inserted: 2_000 } });
    expect(first.verifiedUpTo).toMatch(/Z$/);
    type Entry = { id: string; status: string };
    const open = ([...scene.sandbox.truth(scene.project)] as Entry[]).filter(({ status }) => status === 'pending');
    const [closed, gone] = [open.slice(0, 3), open.slice(3, 5)];
    scene.sandbox.changeEntries(
      scene.project,
      closed.map(({ id }) => ({ id, status: 'resolved' })),
    );
    scene.sandbox.deleteEntries(
      scene.project,
      gone.map(({ id }) => id),
    );
    const review = await sync('review');
    expect(review.entries).toMatchObject({ updated: 3, tombstoned: 0 });
    expect(review.requests).toBeLessThanOrEqual(12);
    const second = await sync('sweep');
    expect(second.entries).toMatchObject({ updated: 0, tombstoned: 2 });
    expect((second.verifiedUpTo ?? '') > (first.verifiedUpTo ?? '')).toBe(true);
    const { kept } = storedFeedback(scene);
    expect(gone.map(({ id }) => kept.get(id)?.deleted_at)).toEqual([expect.any(String), expect.any(String)]);
    expect(closed.map(({ id }) => kept.get(id)?.status)).toEqual(['resolved', 'resolved', 'resolved']);
    await replayAll();
  });

  it('reads only what is new in an incremental pass, from the watermark on (S4)', async () => {
    await begin({ sandbox: { entries: 2_000 } });
    const sweep = await sync('sweep');
    expect(sweep.entries).toMatchObject({ seen: 2_000, inserted: 2_000 });
    scene.sandbox.addEntries(scene.project, { count: 5 });
    const incremental = await sync('incremental');
    expect(incremental.entries.inserted).toBe(5);
    expect(incremental.requests).toBeLessThanOrEqual(2);
    const store = await openSqliteFeedbackStore(scene.config.store.feedback.place);
    const passes = await store.listPasses({ project: scene.project });
    await store.close();
    expect(passes.map(({ pass, outcome }) => [pass, outcome])).toEqual([
      ['incremental', 'completed'],
      ['sweep', 'completed'],
    ]);
  });
});
