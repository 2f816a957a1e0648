import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ActivityCancellationDetails } from '@temporalio/common';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { SandboxOptions } from '../../sandbox/index.ts';
import { type Site, siteOf } from '../../src/activities/dependencies.ts';
import { createJobActivities, createRollbackActivities } from '../../src/activities/export-steps.ts';
import {
  createFetchActivities,
  type FetchBundleInput,
  type FetchBundleResult,
  noFetchYet,
} from '../../src/activities/fetch-bundle.ts';
import { whileMine } from '../../src/activities/heartbeats.ts';
import { StoreUnreachable } from '../../src/exports/store/bundle-store.ts';
import { DirectoryBundleStore } from '../../src/exports/store/directory-store.ts';
import { hashFile } from '../../src/files.ts';
import { json, serviceWith } from '../service/http-server.ts';
import {
  type ActivityScene,
  activityScene,
  afterFailures,
  failureOf,
  mockActivity,
} from '../tools/activity-dependencies.ts';
import { smallSite, zip } from '../tools/bundle/build-archive.ts';
import { publishSite } from '../tools/bundle/published-version.ts';
import { publish as publishVersion } from '../tools/bundle/staged.ts';
import { backends, type StoreScene } from '../tools/bundle/store-backends.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { chromiumProgram } from '../tools/servers/chromium.ts';

const domain = 'docs.acme.example';
const chromium = await chromiumProgram();
let scene: ActivityScene;
const mounted: string[] = [];
afterEach(async () => {
  for (const disk of mounted.splice(0)) spawnSync('umount', [disk]);
  await scene?.end();
});

/** One attempt of an activity. */
const run = <Result>(activity: () => Promise<Result>): Promise<Result> =>
  mockActivity().run<[], Result, () => Promise<Result>>(activity);

/** A completed job at a new sandbox. */
async function exported(options: SandboxOptions = {}): Promise<string> {
  scene = await activityScene({ jobSeconds: 0, pages: 4, ...options });
  return completedJob();
}

async function completedJob(): Promise<string> {
  const jobs = createJobActivities(scene.deps);
  const { jobId } = await run(() => jobs.startJob({ org: 'acme', domain, parameters: {} }));
  const stateOf = async () => (await run(() => jobs.readJob({ org: 'acme', jobId }))).state;
  await expect.poll(stateOf).toBe('completed');
  return jobId;
}

const attempt = (info: Parameters<typeof mockActivity>[0] = {}) =>
  mockActivity({ workflowExecution: { workflowId: 'export', runId: 'stage-1' }, ...info });

async function fetchBundle(
  jobId: string,
  env = attempt(),
  publish?: FetchBundleInput['publish'],
): Promise<FetchBundleResult> {
  const { deps } = scene;
  const stage = { storeId: deps.bundles.identity, stageId: 'stage-1' };
  const input = { org: 'acme', domain, ...stage, jobId, force: false, ...(publish && { publish }) };
  return env.run(() => createFetchActivities(whileMine(deps)).fetchBundle(input));
}

const sealIn = (result: FetchBundleResult) => (result.ok ? result.seal : 'refused');

const downloads = () => scene.sandbox.log().filter((entry) => entry.kind === 'storage');

/** Each request goes on behind the one before, at what had come of it: a reset drops what a busy process has not read. */
function expectNothingTwice(resetEvery: number): void {
  const starts = downloads().map(({ range }) => Number(range?.match(/^bytes=(\d+)-/)?.[1] ?? 0));
  expect(starts.length).toBeGreaterThan(2);
  for (const [index, start] of starts.entries()) {
    const before = starts[index - 1] ?? -1;
    expect(start).toBeGreaterThan(before);
    expect(start).toBeLessThanOrEqual(before < 0 ? 0 : before + resetEvery);
  }
}

const workerShutdown = new ActivityCancellationDetails({ workerShutdown: true });

describe('fetchBundle', () => {
  it('downloads and verifies, and keeps what it found beside the staged file', async () => {
    const result = await fetchBundle(await exported());
    expect(result).toMatchObject({ ok: true, linksRequested: 1, pages: 5, current: null });
    const version = '20261121T040200Z-3f9a2c1b8e7d';
    const manifest = await scene.deps.bundles.publish('stage-1', version, sealIn(result));
    expect(manifest).toMatchObject({ version, pages: 5, source: { org: 'acme', domain } });
  });

  it('publishes new content at once if asked, and an attempt after one that died behind that says the same', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    const publish = { namedAt: Date.UTC(2026, 10, 22), promote: true };
    const first = await fetchBundle(jobId, attempt(), publish);
    const [{ version } = { version: 'none' }] = await bundles.versions(domain);
    expect(version).toMatch(/^20261122T000000Z-/);
    const published = { url: bundles.urlOf(domain, await bundles.manifest(domain, version)), heldAt: null };
    expect(first).toMatchObject({ ok: true, current: null, kept: null, published });
    expect(await bundles.current(domain)).toMatchObject({ version, epoch: 1 });
    expect(await fetchBundle(jobId, attempt({ attempt: 2 }), publish)).toMatchObject({ kept: null, published });
    expect(await bundles.current(domain)).toMatchObject({ version, epoch: 1 });
    // The next export finds that nothing has changed.
    const later = await fetchBundle(jobId, attempt(), { ...publish, namedAt: Date.now() });
    expect(later).toMatchObject({ ok: true, kept: { version } });
    expect(later).not.toHaveProperty('published');
  });

  it('dates what it puts into service by the clock of Temporal, whatever that of its machine says (E5)', async () => {
    const jobId = await exported();
    const scheduledAt = Date.UTC(2026, 9, 22);
    const inTime = attempt({ currentAttemptScheduledTimestampMs: scheduledAt });
    await fetchBundle(jobId, inTime, { namedAt: scheduledAt - 1_000, promote: true });
    const { publishedAt = '' } = (await scene.deps.bundles.current(domain)) ?? {};
    expect(publishedAt).toMatch(/^2026-10-22T00:0/);
  });

  it('leaves another run in service that published after an attempt which died behind its publication (E5)', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    const namedAt = Date.UTC(2026, 10, 22);
    const publish = { namedAt, promote: true };
    await fetchBundle(jobId, attempt(), publish);
    const newer = '20261123T000000Z-0123456789ab';
    await publishSite({ root: join(scene.folder, 'bundles'), domain, version: newer });
    const { epoch = 0, version } = (await bundles.current(domain)) ?? {};
    if (version !== newer) await bundles.moveCurrent(domain, newer, epoch, new Date(namedAt + 1_000));
    await expect(fetchBundle(jobId, attempt({ attempt: 2 }), publish)).rejects.toMatchObject({ type: 'Superseded' });
    expect(await bundles.current(domain)).toMatchObject({ version: newer });
  });

  it('leaves to a person what a rule asks about, also after an attempt that died behind the staging (E8)', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    const publish = { namedAt: Date.UTC(2026, 10, 22), promote: true };
    const site = siteOf(scene.deps, 'acme', domain);
    const file = join(scene.folder, 'small.zip');
    await writeFile(file, zip(smallSite));
    scene.sandbox.setFaults({ archiveFile: file });
    site.bundle.rules = { 'no-404-page': 'ask', 'too-few-pages': { level: 'ask', limit: 40 } };
    const asks = [{ rule: 'too-few-pages', path: null, detail: 'the version has 2 pages' }, { rule: 'no-404-page' }];
    expect(await fetchBundle(jobId, attempt(), publish)).toMatchObject({ ok: true, kept: null, asks });
    const before = { attempt: 2, heartbeatDetails: scene.heartbeats.at(-1) };
    const again = await fetchBundle(jobId, attempt(before), publish);
    expect(again).toMatchObject({ ok: true, kept: null, asks });
    expect(again).not.toHaveProperty('published');
    expect(downloads()).toHaveLength(1);
    expect(await bundles.versions(domain)).toEqual([]);
    // What does not become current needs no approval, and what is current already has it.
    const only = await fetchBundle(jobId, attempt(before), { ...publish, promote: false });
    expect(only).toMatchObject({ asks: [], published: { heldAt: null } });
    const [{ version } = { version: 'none' }] = await bundles.versions(domain);
    await bundles.moveCurrent(domain, version, 0, new Date());
    expect(await fetchBundle(jobId, attempt(), { ...publish, namedAt: Date.now() })).toMatchObject({
      asks: [],
      kept: { version },
    });
  });

  it('publishes what a check refused only when forced, and other content ends the hold (E6, E7)', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    const { returnToVersionBefore } = createRollbackActivities(whileMine(scene.deps));
    const storeId = bundles.identity;
    const fetched = async (job: string, namedAt: number, force = false) => {
      const input = { org: 'acme', domain, storeId, stageId: 'stage-1', jobId: job, force };
      const result = await attempt().run(() =>
        createFetchActivities(whileMine(scene.deps)).fetchBundle({ ...input, publish: { namedAt, promote: true } }),
      );
      return result;
    };
    const current = async () => (await bundles.current(domain))?.version;
    const at = (day: number) => Date.UTC(2026, 10, day);
    const refuse = async () => {
      const input = { domain, storeId, version: `${await current()}`, reason: 'web: old pages', at: at(23) };
      // As a second attempt, after one whose answer was lost.
      for (let tries = 0; tries < 2; tries += 1) await run(() => returnToVersionBefore(input));
      return input.version;
    };

    // Without an earlier version nothing is current, and the hold names what was refused until a person releases it.
    await fetched(jobId, at(1));
    const first = await refuse();
    expect([await current(), await bundles.holds.of(domain)]).toMatchObject([
      undefined,
      { version: first, refused: { version: first } },
    ]);
    expect(await fetched(jobId, at(2))).toMatchObject({ heldAt: first, kept: { version: first } });
    await bundles.holds.release(domain);
    expect(await fetched(jobId, at(2))).toMatchObject({ kept: null, published: { heldAt: null } });
    const good = await current();

    scene.sandbox.publishRevision(domain);
    const newJob = await completedJob();
    await fetched(newJob, at(3));
    const bad = await refuse();
    expect([await current(), bad === good, first === good]).toEqual([good, false, false]);
    const reasons = [{ rule: 'check-failed', path: null, detail: 'web: old pages' }];
    for (let again = 0; again < 3; again += 1) {
      expect(await fetched(newJob, at(4 + again))).toMatchObject({
        heldAt: good,
        kept: { version: bad, reasons },
      });
    }
    expect(await current()).toBe(good);

    // A return that ends between the hold and the pointer is taken to its end by the next export.
    await fetched(newJob, at(8), true);
    const forced = `${await current()}`;
    vi.spyOn(bundles, 'moveCurrent').mockRejectedValueOnce(new StoreUnreachable('away'));
    const half = { domain, storeId, version: forced, reason: 'web: old pages', at: at(23) };
    await expect(run(() => returnToVersionBefore(half))).rejects.toThrow('away');
    expect([await current(), await bundles.holds.of(domain)]).toMatchObject([forced, { version: good }]);
    expect(await fetched(newJob, at(9))).toMatchObject({ heldAt: good, current: { version: good } });
    expect(await current()).toBe(good);

    // So does one of other content, and a version that was refused is never returned to.
    await fetched(newJob, at(9), true);
    const alsoForced = `${await current()}`;
    vi.spyOn(bundles, 'moveCurrent').mockRejectedValueOnce(new StoreUnreachable('away'));
    await expect(run(() => returnToVersionBefore({ ...half, version: alsoForced }))).rejects.toThrow('away');
    expect(await current()).toBe(alsoForced);
    expect(await fetched(jobId, at(9))).toMatchObject({ kept: { version: good }, current: { version: good } });
    expect((await bundles.current(domain))?.before ?? []).not.toContain(alsoForced);

    // A person forces it, and a check refuses it again; then the service goes back to what is in service.
    expect(await fetched(newJob, at(10), true)).toMatchObject({ kept: null, published: { heldAt: null } });
    expect([(await current())?.slice(0, 8), await bundles.holds.of(domain)]).toEqual(['20261110', null]);
    await refuse();
    expect(await fetched(jobId, at(11))).toMatchObject({ heldAt: null, kept: { version: good } });
    expect(await bundles.holds.of(domain)).toBeNull();

    // Other content ends the hold once it becomes current; what a person holds stays.
    siteOf(scene.deps, 'acme', domain).bundle.rules = { 'pages-removed': { level: 'off', limit: 0 } };
    await fetched(newJob, at(12));
    await refuse();
    const file = join(scene.folder, 'small.zip');
    await writeFile(file, zip(smallSite));
    scene.sandbox.setFaults({ archiveFile: file });
    expect(await fetched(jobId, at(13))).toMatchObject({ kept: null, published: { heldAt: null } });
    expect([(await current())?.slice(0, 8), await bundles.holds.of(domain)]).toEqual(['20261113', null]);
    await bundles.holds.place(domain, { version: null, reason: null, at: new Date() });
    await expect(refuse()).rejects.toMatchObject({ type: 'SiteHeld' });
  });

  it('takes a refused version out of service by other content where the version before is damaged', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    siteOf(scene.deps, 'acme', domain).bundle.rules = { 'pages-removed': { level: 'off', limit: 0 } };
    const publishAt = (day: number) => ({ namedAt: Date.UTC(2026, 10, day), promote: true });
    const current = async () => `${(await bundles.current(domain))?.version}`;
    await fetchBundle(jobId, attempt(), publishAt(1));
    const before = await current();
    scene.sandbox.publishRevision(domain);
    const newJob = await completedJob();
    await fetchBundle(newJob, attempt(), publishAt(2));
    const refused = await current();
    vi.spyOn(bundles, 'moveCurrent').mockRejectedValueOnce(new StoreUnreachable('away'));
    const { returnToVersionBefore } = createRollbackActivities(whileMine(scene.deps));
    const half = {
      domain,
      storeId: bundles.identity,
      version: refused,
      reason: 'old pages',
      at: Date.UTC(2026, 10, 3),
    };
    await expect(run(() => returnToVersionBefore(half))).rejects.toThrow('away');
    const manifest = join(scene.folder, 'bundles', domain, 'versions', before, 'manifest.json');
    await writeFile(manifest, (await readFile(manifest, 'utf8')).replace(/"sha256": "./g, '"sha256": "0'));
    await expect(fetchBundle(newJob, attempt(), publishAt(4))).rejects.toMatchObject({ type: 'PublishRefused' });
    expect(await current()).toBe(refused);
    const file = join(scene.folder, 'small.zip');
    await writeFile(file, zip(smallSite));
    scene.sandbox.setFaults({ archiveFile: file });
    expect(await fetchBundle(jobId, attempt(), publishAt(5))).toMatchObject({
      kept: null,
      published: { heldAt: null },
    });
    expect((await current()).slice(0, 8)).toBe('20261105');
    expect(await bundles.holds.of(domain)).toBeNull();
  });

  it('refuses what a rule about the change refuses, and keeps nothing of it', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    siteOf(scene.deps, 'acme', domain).bundle.rules = { 'size-changed': { level: 'refuse', limit: 0.1 } };
    const version = '20261121T040200Z-3f9a2c1b8e7d';
    await publishSite({ root: join(scene.folder, 'bundles'), domain, version });
    if ((await bundles.current(domain)) === null) await bundles.moveCurrent(domain, version, 0, new Date());
    const publish = { namedAt: Date.UTC(2026, 10, 22), promote: true };
    expect(await fetchBundle(jobId, attempt(), publish)).toMatchObject({
      ok: false,
      reasons: [{ rule: 'size-changed', detail: expect.stringContaining(version) }],
    });
    expect(await bundles.versions(domain)).toMatchObject([{ version }]);
    expect(await readdir(join(scene.folder, 'bundles', '.staging'))).toEqual(['stage']);
  });

  it('leaves the publication to a step of its own when it fails', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    vi.spyOn(bundles, 'moveCurrent').mockRejectedValueOnce(new StoreUnreachable('away'));
    const publish = { namedAt: Date.UTC(2026, 10, 22), promote: true };
    const result = await fetchBundle(jobId, attempt(), publish);
    expect(result).toMatchObject({ ok: true, kept: null, published: null });
    const [{ version } = { version: 'none' }] = await bundles.versions(domain);
    expect(await bundles.publish('stage-1', version, sealIn(result))).toMatchObject({ version });
  });

  it.each([
    ['leaves the publication to a step of its own when its worker shuts down meanwhile', 'WORKER_SHUTDOWN', null],
    ['ends when it is cancelled during the publication', 'CANCELLED', 'cancelled'],
  ] as const)('%s', async (_what, reason, failure) => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    const env = attempt();
    vi.spyOn(bundles, 'publish').mockImplementationOnce(async (_stage, _version, _seal, work) => {
      env.cancel(reason, reason === 'CANCELLED' ? undefined : workerShutdown);
      throw work?.signal?.reason;
    });
    const fetched = fetchBundle(jobId, env, { namedAt: Date.UTC(2026, 10, 22), promote: true });
    if (failure === null) expect(await fetched).toMatchObject({ ok: true, kept: null, published: null });
    else await expect(fetched).rejects.toThrow(failure);
  });

  it('brings the version at which a person holds the site into service where a rollback ended before that', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    await fetchBundle(jobId, attempt(), { namedAt: Date.UTC(2026, 10, 22), promote: true });
    const held = await bundles.current(domain);
    const newer = '20261201T000000Z-000000000000';
    await publishSite({ root: join(scene.folder, 'bundles'), domain, version: newer });
    await bundles.moveCurrent(domain, newer, held?.epoch ?? 0, new Date());
    await bundles.holds.place(domain, { version: held?.version ?? null, reason: null, at: new Date() });
    const version = held?.version;
    const result = await fetchBundle(jobId, attempt());
    expect(result).toMatchObject({ ok: true, current: { version }, heldAt: version, kept: { version } });
    expect(await bundles.current(domain)).toMatchObject({ version });
  });

  it('knows the content that a held site was rolled back from: it is not published twice', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    const before = '20260101T000000Z-000000000000';
    const broken = '20260201T000000Z-000000000000';
    await publishSite({ root: join(scene.folder, 'bundles'), domain, version: before });
    const fetched = await fetchBundle(jobId);
    await bundles.publish('stage-1', broken, sealIn(fetched));
    await bundles.moveCurrent(domain, broken, 0, new Date());
    await bundles.holds.place(domain, { version: before, reason: null, at: new Date() });
    await bundles.moveCurrent(domain, before, 1, new Date());
    await bundles.discardStaged('stage-1');
    const again = await fetchBundle(jobId);
    expect(again).toMatchObject({ ok: true, heldAt: before, current: { version: before }, kept: { version: broken } });
    // Nothing is left to publish.
    await expect(bundles.publish('stage-1', '20260301T000000Z-000000000000', sealIn(again))).rejects.toThrow();

    await bundles.holds.release(domain);
    expect(await fetchBundle(jobId)).toMatchObject({ ok: true, kept: null });
  });

  it('goes on in another attempt behind the bytes the first one left on the disk', async () => {
    const jobId = await exported({ padBytes: 4_000_000, faults: { storageStall: 1 } });
    const first = attempt();
    first.on('heartbeat', (details: { offset: number }) => {
      if (details.offset >= 2_000_000) first.cancel('WORKER_SHUTDOWN', workerShutdown);
    });
    expect(await failureOf(fetchBundle(jobId, first))).toMatchObject({ type: 'WorkerShutdown', nonRetryable: false });
    const details = {
      phase: 'fetching',
      linksRequested: 1,
      offset: 1,
      total: 1,
      bytesPerSecond: 1,
      downloadMs: 1,
      seal: '',
      asks: [],
    };
    const second = await fetchBundle(jobId, attempt({ attempt: 2, heartbeatDetails: details }));
    expect(second).toMatchObject({ ok: true, linksRequested: 2 });
    const [whole, rest, ...more] = downloads();
    expect(whole?.range).toBeNull();
    expect(Number(rest?.range?.match(/^bytes=(\d+)-$/)?.[1])).toBeGreaterThanOrEqual(2_000_000);
    expect(more).toEqual([]);
  });

  it('replaces links that end soon before it uses them, and goes on behind the bytes it has', async () => {
    const jobId = await exported({ padBytes: 5_000_000, storageRate: 2_000_000, clockSkewMs: 3_600_000 });
    // Each link lives for less than the second reset takes, by a clock that is an hour ahead.
    scene.sandbox.setFaults({ linkLifetimeMs: 2_000, storageResetEvery: 2_200_000 });
    const result = await fetchBundle(jobId);
    expect(result.ok).toBe(true);
    expect(result.linksRequested).toBeGreaterThan(2);
    expect(downloads().map((entry) => entry.status)).not.toContain(403);
    expectNothingTwice(2_200_000);
    expect(downloads().some((entry) => entry.hadAuthorization)).toBe(false);
  });

  it('fetches with several connections what a source gives slowly to each, nothing twice', async () => {
    const jobId = await exported({ padBytes: 24_000_000, storageRate: 6_000_000 });
    scene.deps.organizations = scene.deps.organizations.map((organization) => ({
      ...organization,
      sites: organization.sites.map((site) => ({ ...site, bundle: { ...site.bundle, connections: 4 } })),
    }));
    expect(await fetchBundle(jobId)).toMatchObject({ ok: true, linksRequested: 1 });
    expect(downloads().length).toBeGreaterThan(4);
    expect(downloads().every(({ status }) => status === 206)).toBe(true);
    const sent = downloads().reduce((sum, { bytes }) => sum + bytes, 0);
    const { size } = await stat(join(scene.folder, 'bundles', '.staging', 'stage-1', 'archive'));
    expect(sent).toBe(size);
  });

  it('tells a full disk, leaves nothing of the download there, and the published version as it is', async ({
    skip,
  }) => {
    const jobId = await exported();
    const disk = await tempFolder();
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', disk]).status !== 0)
      return skip('needs a mount');
    mounted.push(disk);
    scene.deps.bundles = await DirectoryBundleStore.open({ root: disk, publicUrl: 'http://localhost:8090' });
    const result = await fetchBundle(jobId);
    expect(result).toMatchObject({ ok: true });
    const version = '20261121T040200Z-3f9a2c1b8e7d';
    await scene.deps.bundles.publish('stage-1', version, sealIn(result));
    const current = await scene.deps.bundles.moveCurrent(domain, version, 0, new Date());
    spawnSync('mount', ['-o', 'remount,size=20m', disk]);
    const failure = await failureOf(fetchBundle(jobId));
    expect(failure).toMatchObject({ type: 'StoreUnavailable', nonRetryable: false });
    expect(failure?.message).toMatch(/^[\d.]+ MiB are needed in .* and [\d.]+ MiB are free: make room/);
    expect(await readdir(join(disk, '.staging'))).toEqual([]);
    expect(await scene.deps.bundles.current(domain)).toEqual(current);
    await scene.deps.bundles.withArchive(domain, version, async (file) => {
      expect(await hashFile(file)).toBe((await scene.deps.bundles.manifest(domain, version)).archive.sha256);
    });
  });

  it('gives up a download that takes longer than the site allows', async () => {
    const jobId = await exported({ padBytes: 4_000_000, storageRate: 200_000 });
    const details = { ...noFetchYet, linksRequested: 1, downloadMs: 3_600_001 };
    const failure = await failureOf(fetchBundle(jobId, attempt({ attempt: 2, heartbeatDetails: details })));
    expect(failure).toMatchObject({ type: 'DownloadFailed', nonRetryable: true });
    expect(failure?.message).toMatch(/^the download took longer than/);
  });

  it('counts nothing but downloads against the longest time of a download', async () => {
    const jobId = await exported();
    const { bundles } = scene.deps;
    vi.spyOn(bundles, 'saveStaged').mockRejectedValueOnce(new StoreUnreachable('away'));
    expect(await failureOf(fetchBundle(jobId))).toMatchObject({ type: 'StoreUnavailable', nonRetryable: false });
    const heartbeatDetails = scene.heartbeats.at(-1);
    expect(heartbeatDetails).toMatchObject({ phase: 'verifying', downloadMs: expect.any(Number) });
    // The first attempt verified for half a day, or it was long until the second one.
    const { now } = Date;
    const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + 12 * 3_600_000);
    try {
      expect(await fetchBundle(jobId, attempt({ attempt: 2, heartbeatDetails }))).toMatchObject({ ok: true });
    } finally {
      later.mockRestore();
    }
  });

  it('knows a zip by its bytes, whatever the link calls it', async () => {
    const jobId = await exported();
    const file = join(scene.folder, 'site.bin');
    await writeFile(file, zip(smallSite));
    scene.sandbox.setFaults({ archiveFile: file });
    expect(await fetchBundle(jobId)).toMatchObject({ ok: true, archive: { format: 'zip' }, pages: 2 });
    expect(downloads()[0]?.path).toMatch(/\.tar\.gz$/);
  });

  it.for<[string, { name: string; content: string | Buffer }[], RegExp]>([
    ['a large file', [{ name: 'zeros.bin', content: Buffer.alloc(150_000_000) }], /are needed in/],
    [
      'many files',
      Array.from({ length: 200 }, (_, index) => ({ name: `${index}.txt`, content: 'x' })),
      /is full: make/,
    ],
  ])('leaves nothing on a disk that is too small for pages to be rendered: %s', async ([, files, said], { skip }) => {
    const jobId = await exported();
    const disk = await tempFolder();
    const options = 'size=200m,nr_inodes=100';
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk]).status !== 0) return skip('needs a mount');
    mounted.push(disk);
    scene.deps.bundles = await DirectoryBundleStore.open({ root: disk, publicUrl: 'http://localhost:8090' });
    const file = join(scene.folder, 'site.bin');
    await writeFile(file, zip([...smallSite, ...files, { name: 'noise.bin', content: randomBytes(1_000_000) }]));
    scene.sandbox.setFaults({ archiveFile: file });
    siteOf(scene.deps, 'acme', domain).bundle.render = { pages: 2, browser: process.execPath, sandbox: false };
    const failure = await failureOf(fetchBundle(jobId));
    expect(failure).toMatchObject({ type: 'StoreUnavailable', nonRetryable: false });
    expect(failure?.message).toMatch(said);
    expect(await readdir(join(disk, '.staging'))).toEqual([]);
  });

  it('refuses a hostile archive with its reasons and leaves nothing behind', async () => {
    const jobId = await exported();
    scene.sandbox.setFaults({ archiveFile: import.meta.filename });
    const result = await fetchBundle(jobId);
    expect(result).toMatchObject({ ok: false, reasons: [{ rule: expect.stringMatching(/^[a-z-]+$/) }] });
    expect(await readdir(join(scene.folder, 'bundles', '.staging'))).toEqual([]);
  });

  it.skipIf(chromium === null)(
    'renders pages where the site asks for it, and refuses or warns as configured',
    async () => {
      const jobId = await exported();
      const file = join(scene.folder, 'site.bin');
      await writeFile(
        file,
        zip([{ name: 'index.html', content: '<h1>x</h1><script>throw new Error("boom")</script>' }]),
      );
      scene.sandbox.setFaults({ archiveFile: file });
      const rendering = (rules: Site['bundle']['rules'], browser = chromium) => {
        scene.deps.organizations = scene.deps.organizations.map((organization) => ({
          ...organization,
          sites: organization.sites.map((site) => ({
            ...site,
            bundle: { ...site.bundle, rules, render: { pages: 2, browser, sandbox: false } },
          })),
        }));
      };
      rendering({ 'page-script-error': 'refuse' });
      expect(await fetchBundle(jobId)).toMatchObject({
        ok: false,
        reasons: [{ rule: 'page-script-error', path: 'index.html', detail: 'Error: boom' }],
      });
      expect(await readdir(join(scene.folder, 'bundles', '.staging'))).toEqual([]);
      rendering({}, '/nowhere/chromium');
      expect(await failureOf(fetchBundle(jobId))).toMatchObject({
        type: 'InvalidInput',
        nonRetryable: true,
        message: expect.stringContaining('there is no browser /nowhere/chromium'),
      });
      rendering({});
      expect(await fetchBundle(jobId)).toMatchObject({ ok: true, pages: 1 });
    },
    120_000,
  );

  it('refuses a link to a private address that is not listed, without asking it', async () => {
    const jobId = await exported();
    scene.deps.linkPolicy = { allowInsecure: true, linkHosts: [] };
    expect(await failureOf(fetchBundle(jobId))).toMatchObject({ type: 'LinkRefused', nonRetryable: true });
    expect(downloads()).toEqual([]);
  });

  it.each([
    ['gives up on JSON without a link', '{"bundleUrl":null}', true],
    ["goes on after a gateway's page", '<html>maintenance</html>', false],
  ])('tried ten times, %s', async (_what, body, nonRetryable) => {
    scene = await activityScene();
    const { service } = await serviceWith((response) => response.end(body));
    scene.deps.organizations = scene.deps.organizations.map((organization) => ({ ...organization, service }));
    // An outage of something else took forty attempts.
    const failed = (number: number) =>
      failureOf(fetchBundle('job_1', attempt({ attempt: number + 40, ...afterFailures('malformed', number - 1) })));
    expect(await failed(9)).toMatchObject({ type: 'MalformedResponse', nonRetryable: false });
    expect(await failed(10)).toMatchObject({ type: 'MalformedResponse', nonRetryable });
  });

  it('refuses to use another store than the one the run began with', async () => {
    const jobId = await exported();
    const input = { org: 'acme', domain, storeId: 'another', jobId, stageId: 'stage-1', force: false };
    const bundles = createFetchActivities(whileMine(scene.deps));
    expect(await failureOf(run(() => bundles.fetchBundle(input)))).toMatchObject({ type: 'StoreMismatch' });
  });
});

describe.each(backends.filter(({ available }) => available))('fetchBundle after kill -9, in a $kind', (backend) => {
  beforeAll(() => backend.start());
  afterAll(() => backend.stop());

  const publish = { namedAt: Date.UTC(2026, 10, 22), promote: true };
  /** Another attempt on another machine, with what Temporal had of the first one, which was killed. */
  const again = (jobId: string, asked = publish) =>
    fetchBundle(jobId, attempt({ attempt: 2, heartbeatDetails: scene.heartbeats.at(-1) }), asked);

  async function inStore(): Promise<{ jobId: string; store: StoreScene }> {
    const jobId = await exported();
    const store = await backend.scene();
    scene.deps.bundles = store.store;
    return { jobId, store };
  }

  it('behind the publication: says what was published, without the service', async () => {
    const { jobId, store } = await inStore();
    const first = await fetchBundle(jobId, attempt(), publish);
    await scene.sandbox.stop();
    scene.deps.bundles = await store.open();
    const current = await scene.deps.bundles.current(domain);
    expect(await again(jobId)).toEqual({ ...first, current });
    expect(await scene.deps.bundles.current(domain)).toEqual(current);
    expect(current).toMatchObject({ epoch: 1 });
  });

  it('between staging and publication: publishes what was staged, without the service', async () => {
    const { jobId, store } = await inStore();
    vi.spyOn(store.store, 'publish').mockRejectedValueOnce(new StoreUnreachable('killed here'));
    await fetchBundle(jobId, attempt(), publish);
    await scene.sandbox.stop();
    scene.deps.bundles = await store.open();
    expect(await again(jobId)).toMatchObject({ ok: true, linksRequested: 1, pages: 5, published: { heldAt: null } });
    const [version, ...others] = await scene.deps.bundles.versions(domain);
    expect([await scene.deps.bundles.current(domain), others]).toMatchObject([{ version: version?.version }, []]);
  });

  it('leaves in service what another run has published since, although its own was only staged (E5)', async () => {
    const { jobId, store } = await inStore();
    const { bundles } = scene.deps;
    vi.spyOn(bundles, 'publish').mockRejectedValueOnce(new StoreUnreachable('killed here'));
    await fetchBundle(jobId, attempt(), publish);
    const newer = '20261123T000000Z-0123456789ab';
    await publishVersion(store.store, newer);
    await bundles.moveCurrent(domain, newer, 0, new Date(publish.namedAt + 1_000));
    await expect(again(jobId)).rejects.toMatchObject({ type: 'Superseded' });
    expect(await bundles.current(domain)).toMatchObject({ version: newer });
  });

  it.each([
    ['another record', 'staged.json', (text: string) => text.replace('"pages": 5', '"pages": 6')],
    ['no archive', /archive$|[0-9a-f]{64}$/, () => null],
  ])('trusts only what was verified: with %s in the staging it fetches again', async (_what, name, change) => {
    const { jobId, store } = await inStore();
    vi.spyOn(store.store, 'publish').mockRejectedValueOnce(new StoreUnreachable('killed here'));
    await fetchBundle(jobId, attempt(), publish);
    const path = (await store.files()).find((file) => file.startsWith('.staging/stage-1/') && file.match(name)) ?? '';
    const changed = change((await store.read(path)).toString());
    if (changed === null) await store.remove(path);
    else await store.write(path, changed);
    expect(await again(jobId)).toMatchObject({ ok: true, linksRequested: 2, pages: 5, published: { heldAt: null } });
  });
});

describe('startJob', () => {
  const start = () => run(() => createJobActivities(scene.deps).startJob({ org: 'acme', domain, parameters: {} }));

  it.each([
    ['a reset after the job was made', { jobStartResets: 1 }, 'StartUncertain', true],
    ['503', { startErrors: 1 }, 'ServerError', false],
    ['401', { unauthorized: true }, 'Unauthorized', true],
  ])('tells what may have arrived from what did not: %s', async (_what, faults, type, final) => {
    scene = await activityScene();
    scene.sandbox.setFaults(faults);
    expect(await failureOf(start())).toMatchObject({ type, nonRetryable: final });
  });

  it.each([
    ['an object without an id', '{}', ['answered']],
    ['nothing', '', ['answered']],
    ["a gateway's page", '<html>maintenance</html>', []],
  ])('says whether the service answered a start: %s', async (_what, body, details) => {
    scene = await activityScene();
    const { service } = await serviceWith((response) => response.end(body));
    scene.deps.organizations = scene.deps.organizations.map((organization) => ({ ...organization, service }));
    expect(await failureOf(start())).toMatchObject({ type: 'StartUncertain', nonRetryable: true, details });
  });

  it('says that the plan is missing', async () => {
    scene = await activityScene({ organizations: [{ id: 'acme', plan: 'basic', domains: [domain] }] });
    expect(await failureOf(start())).toMatchObject({ type: 'PlanRequired', nonRetryable: true });
  });

  it('waits as long as a 429 says and is tried again', async () => {
    scene = await activityScene();
    const { service } = await serviceWith(json({ error: 'slowly' }, 429, { 'retry-after': '40' }));
    scene.deps.organizations = scene.deps.organizations.map((organization) => ({ ...organization, service }));
    const failure = await failureOf(start());
    expect(failure).toMatchObject({ type: 'RateLimited', nonRetryable: false, nextRetryDelay: 40_000 });
    expect(scene.asks).toEqual([]);
  });

  it('is sure that nothing arrived when the service is not there', async () => {
    scene = await activityScene();
    await scene.sandbox.stop();
    expect(await failureOf(start())).toMatchObject({ type: 'NetworkError', nonRetryable: false });
  });
});

describe('readJob', () => {
  it('tells a vanished job from a failed request', async () => {
    scene = await activityScene();
    const jobs = createJobActivities(scene.deps);
    const read = (jobId: string) => run(() => jobs.readJob({ org: 'acme', jobId }));
    expect(await read('no-such-job')).toMatchObject({ state: 'missing' });
    scene.sandbox.setFaults({ exportErrors: 1 });
    expect(await failureOf(read('no-such-job'))).toMatchObject({ type: 'ServerError', nonRetryable: false });
  });
});
