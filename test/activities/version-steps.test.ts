import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { bundleFailure } from '../../src/activities/dependencies.ts';
import {
  createApprovalActivities,
  createBundleActivities,
  createJobActivities,
  createRollbackActivities,
  createRolloutActivities,
  promoteUnlessHeld,
} from '../../src/activities/export-steps.ts';
import { createFetchActivities } from '../../src/activities/fetch-bundle.ts';
import { whileMine } from '../../src/activities/heartbeats.ts';
import { DirectoryPlace } from '../../src/exports/rollout/directory-place.ts';
import type { RolloutRequest } from '../../src/exports/rollout/rollout-target.ts';
import { versionName } from '../../src/exports/rules/site-export.ts';
import { ManifestSigner } from '../../src/exports/signing/manifest-signer.ts';
import {
  type BundleStore,
  type Current,
  type Manifest,
  PointerMoved,
  RecordDamaged,
  StoreRefused,
  StoreUnreachable,
} from '../../src/exports/store/bundle-store.ts';
import { summarizeChanges } from '../../src/exports/store/compare-manifests.ts';
import { DirectoryBundleStore } from '../../src/exports/store/directory-store.ts';
import { BrowserUnusable } from '../../src/exports/verify/find-browser.ts';
import {
  type ActivityScene,
  activityScene,
  afterFailures,
  failureOf,
  mockActivity,
} from '../tools/activity-dependencies.ts';
import { versionOf } from '../tools/bundle/place.ts';
import { filesOf, publish, sealOfStaged, stage, stagedManifest } from '../tools/bundle/staged.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { Minisign, minisignProgram } from '../tools/servers/minisign.ts';

const domain = 'docs.acme.example';
const minisign = minisignProgram();
/** The name of a version with this content. */
const versionAt = (day: number, content = 'archive bytes') =>
  versionName(Date.UTC(2026, 11, day), stagedManifest(content, filesOf(content)).contentDigest);
const now = Date.UTC(2026, 11, 24);
let scene: ActivityScene;
async function begin(options?: Parameters<typeof activityScene>[0]): Promise<void> {
  const begun = await activityScene(options);
  onTestFinished(() => begun.end());
  scene = begun;
}

const run = <Result>(activity: () => Promise<Result>): Promise<Result> =>
  mockActivity().run<[], Result, () => Promise<Result>>(activity);

/** A scene whose store has these versions, the last of them current, and a folder as target. */
async function withVersions(days: readonly number[]) {
  await begin();
  const { bundles } = scene.deps;
  for (const day of days) await publish(bundles, versionAt(day));
  await bundles.moveCurrent(domain, versionAt(days.at(-1) ?? 0), 0, new Date(now));
  return { bundles, storeId: bundles.identity, target: giveTarget() };
}

/** Gives the scene's site a folder as target. */
function giveTarget() {
  const target = { name: 'directory:./site', place: new DirectoryPlace({ path: join(scene.folder, 'site') }) };
  scene.deps.organizations = scene.deps.organizations.map((organization) => ({
    ...organization,
    sites: organization.sites.map((site) => ({ ...site, targets: [target] })),
  }));
  return target;
}

describe('publishVersion', () => {
  it('lets old versions go once the new one is current, and never fails for that', async () => {
    const { bundles, storeId } = await withVersions([1, 2, 3]);
    scene.deps.keepVersions = 2;
    await bundles.recordRollout(domain, 'directory:./site', versionAt(1));
    const activities = createBundleActivities(scene.deps);
    const seal = sealOfStaged();
    const input = {
      org: 'acme',
      domain,
      storeId,
      stageId: 'run-5',
      seal,
      version: versionAt(5),
      awaitsApproval: false,
    };
    const again = {
      ...input,
      stageId: 'run-4',
      version: versionAt(4),
      promote: { expected: await bundles.current(domain), publishedAt: now },
    };
    await stage(bundles, 'run-4');
    expect((await run(() => activities.publishVersion(again))).url).toContain(versionAt(4));
    expect((await bundles.versions(domain)).map(({ version }) => version)).toEqual(
      [4, 3, 1].map((day) => versionAt(day)),
    );

    const failing = { ...scene.deps, bundles: withFault(bundles, 'prune', new StoreUnreachable('away')) };
    await stage(bundles, 'run-5');
    const published = run(() => createBundleActivities(failing).publishVersion({ ...input, promote: null }));
    expect((await published).url).toContain(versionAt(5));
  });

  it('refuses for good what was planted in the staging area after verification (E10)', async () => {
    const { bundles, storeId } = await withVersions([1]);
    const staged = await stage(bundles, 'run-2');
    const planted = { ...staged, archive: { ...staged.archive, sha256: 'f'.repeat(64) } };
    await bundles.saveStaged('run-2', planted);
    const input = { org: 'acme', domain, storeId, stageId: 'run-2', seal: sealOfStaged(), version: versionAt(2) };
    const promote = { expected: await bundles.current(domain), publishedAt: now };
    const { publishVersion } = createBundleActivities(scene.deps);
    expect(await failureOf(run(() => publishVersion({ ...input, promote, awaitsApproval: false })))).toMatchObject({
      type: 'PublishRefused',
      message: 'staged.json is not what was recorded when the archive was verified',
      nonRetryable: true,
    });
    expect((await bundles.versions(domain)).map(({ version }) => version)).toEqual([versionAt(1)]);
    expect((await bundles.current(domain))?.version).toBe(versionAt(1));
  });

  it('lets no version go for one that awaits approval, and with it none that is in use', async () => {
    const { bundles, storeId } = await withVersions([1, 2, 3, 4]);
    scene.deps.keepVersions = 1;
    const { publishVersion } = createBundleActivities(scene.deps);
    const { promoteVersion, withdrawVersion } = createApprovalActivities(scene.deps);
    const kept = async () => (await bundles.versions(domain)).map(({ version }) => Number(version.slice(6, 8)));
    const put = async (day: number) => {
      const promote = { expected: await bundles.current(domain), publishedAt: now };
      const [stageId, seal] = [`run-${day}`, sealOfStaged(`content of ${day}`)];
      const version = versionAt(day, `content of ${day}`);
      const input = { org: 'acme', domain, storeId, stageId, seal, version, promote };
      await stage(bundles, stageId, `content of ${day}`);
      const { heldAt } = await run(() => publishVersion({ ...input, awaitsApproval: true }));
      return { heldAt, decided: { domain, storeId, stageId, version: input.version }, promote };
    };

    const refused = await put(5);
    expect(await kept()).toEqual([5, 4, 3, 2, 1]);
    await run(() => withdrawVersion(refused.decided));
    expect(await kept()).toEqual([4, 3, 2, 1]);

    const approved = await put(6);
    expect([approved.heldAt, await kept()]).toEqual([null, [6, 4, 3, 2, 1]]);
    await bundles.startRollout(domain, 'directory:./site', versionAt(2));
    expect(await run(() => promoteVersion({ ...approved.decided, promote: approved.promote }))).toEqual({
      heldAt: null,
    });
    expect((await bundles.current(domain))?.version).toBe(approved.decided.version);
    expect(await kept()).toEqual([6, 2]);

    // Under a hold nobody is asked: what is held and what waits for the release stay, the one before goes.
    await bundles.holds.place(domain, { version: null, reason: null, at: new Date(now) });
    await bundles.startRollout(domain, 'directory:./site', approved.decided.version);
    expect((await put(7)).heldAt).toBe(approved.decided.version);
    expect(await kept()).toEqual([7, 6]);
    expect((await put(8)).heldAt).toBe(approved.decided.version);
    expect(await kept()).toEqual([8, 6]);
  });

  it('tells what a person must mend from what may pass', async () => {
    const { bundles, storeId } = await withVersions([1]);
    const failing = async (error: Error) => {
      const deps = { ...scene.deps, bundles: withFault(bundles, 'publish', error) };
      const input = {
        org: 'acme',
        domain,
        storeId,
        stageId: 'run-1',
        seal: sealOfStaged(),
        version: versionAt(2),
        promote: null,
        awaitsApproval: false,
      };
      return failureOf(run(() => createBundleActivities(deps).publishVersion(input)));
    };
    expect(await failing(new StoreRefused('denied', 'allow it'))).toMatchObject({
      type: 'StoreUnavailable',
      message: 'denied: allow it',
      nonRetryable: true,
    });
    expect(await failing(new RecordDamaged('current.json'))).toMatchObject({
      type: 'StoreUnavailable',
      message: expect.stringMatching(/^current.json in the bundle store is damaged: put it back from a backup; /),
      nonRetryable: true,
    });
    expect(await failing(new StoreRefused('expired', 'renew', true))).toMatchObject({ nonRetryable: false });
    expect(await failing(new StoreUnreachable('away'))).toMatchObject({
      type: 'StoreUnavailable',
      nonRetryable: false,
    });
  });
});

describe('fetchBundle', () => {
  it('stages nothing when nothing changed, unless it is to be published all the same', async () => {
    await begin({ jobSeconds: 0, pages: 2 });
    const { bundles } = scene.deps;
    const target = giveTarget();
    const jobs = createJobActivities(scene.deps);
    const { jobId } = await run(() => jobs.startJob({ org: 'acme', domain, parameters: {} }));
    await expect.poll(async () => (await run(() => jobs.readJob({ org: 'acme', jobId }))).state).toBe('completed');
    const activities = createFetchActivities(scene.deps);
    const fetch = (stageId: string, force: boolean) =>
      run(() => activities.fetchBundle({ org: 'acme', domain, storeId: bundles.identity, jobId, stageId, force }));
    const staged = () => readdir(join(scene.folder, 'bundles', '.staging'));
    const first = await fetch('first', false);
    expect(first).toMatchObject({ ok: true, current: null });
    expect(await staged()).toEqual(['first']);
    if (!first.ok) throw new Error('the archive was refused');
    const version = versionName(now, first.contentDigest);
    await bundles.publish('first', version, first.seal);
    await bundles.discardStaged('first');
    await bundles.moveCurrent(domain, version, 0, new Date(now));
    const archive = { sha256: expect.any(String), bytes: expect.any(Number), format: 'tar.gz' };
    const kept = {
      version,
      url: bundles.urlOf(domain, await bundles.manifest(domain, version)),
      archive,
      rollouts: [],
    };
    expect(await fetch('second', false)).toMatchObject({ ok: true, current: { version }, kept });
    expect(await staged()).toEqual([]);
    const { rollOut } = createRolloutActivities(scene.deps);
    const site = { org: 'acme', domain, storeId: bundles.identity };
    await run(() => rollOut({ ...site, version, target: target.name, previous: null, step: 'place', force: false }));
    const rollouts = [{ target: target.name, step: 'place', outcome: 'already-current', detail: `runs ${version}` }];
    expect(await fetch('again', false)).toMatchObject({ kept: { ...kept, rollouts } });
    // Read back, not remembered (E9).
    await rm(join(scene.folder, 'site'), { recursive: true });
    expect(await fetch('again', false)).toMatchObject({ kept });
    const unreadable = async () => ({ runs: 'unknown', why: 'no answer' }) as const;
    Object.assign(target.place, { observe: unreadable });
    expect(await fetch('again', false)).toMatchObject({ kept });
    expect(await fetch('third', true)).toMatchObject({ ok: true });
    expect(await staged()).toEqual(['third']);
  });
});

describe('rollOut', () => {
  it('is sure of a version that is gone or not the current one any more, and touches nothing', async () => {
    const { storeId, target } = await withVersions([1, 2]);
    const { rollOut } = createRolloutActivities(scene.deps);
    const rolling = (version: string) =>
      failureOf(
        run(() =>
          rollOut({
            org: 'acme',
            domain,
            storeId,
            version,
            target: target.name,
            previous: null,
            step: 'place',
            force: false,
          }),
        ),
      );
    expect(await rolling(versionAt(3))).toMatchObject({ type: 'RolloutFailed', nonRetryable: true });
    expect(await rolling(versionAt(1))).toMatchObject({ type: 'Superseded', nonRetryable: true });
    expect(await versionOf(target)).toBeNull();
    expect(await readdir(scene.folder)).not.toContain('site');
  });

  it('asks Temporal once for changes that follow one another at once, not for every file', async () => {
    const { storeId, target } = await withVersions([1]);
    const files = 400;
    const take = async ({ guard }: RolloutRequest) => {
      for (let file = 0; file < files; file += 1) await guard();
      return 'done';
    };
    Object.assign(target.place, { take });
    let asked = 0;
    const recordHeartbeat = async () => {
      asked += 1;
      return 'accepted' as const;
    };
    const { rollOut } = createRolloutActivities(whileMine({ ...scene.deps, recordHeartbeat }));
    // A millisecond passes with each look at the clock.
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      nowMs += 1;
      return nowMs;
    });
    onTestFinished(() => clock.mockRestore());
    const pinned = { org: 'acme', domain, storeId, version: versionAt(1), target: target.name };
    await run(() => rollOut({ ...pinned, previous: null, step: 'place', force: false }));
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(files / 10);
  });

  it('is given up after four failures of its own, however often workers lacked the target', async () => {
    const { storeId, target } = await withVersions([1]);
    Object.assign(target.place, { take: () => Promise.reject(new Error('no answer')) });
    const [version, rest] = [versionAt(1), { previous: null, step: 'place', force: false } as const];
    const { rollOut } = createRolloutActivities(scene.deps);
    let heartbeatDetails: unknown = afterFailures('unconfigured', 12).heartbeatDetails;
    const failures: unknown[] = [];
    for (const attempt of [13, 14, 15, 16]) {
      const env = mockActivity({ attempt, heartbeatDetails });
      env.on('heartbeat', (details: unknown) => {
        heartbeatDetails = details;
      });
      failures.push(
        await failureOf(
          env.run(() => rollOut({ org: 'acme', domain, storeId, version, target: target.name, ...rest })),
        ),
      );
    }
    expect(failures).toMatchObject(
      [false, false, false, true].map((nonRetryable) => ({ type: 'RolloutFailed', nonRetryable })),
    );
    expect(heartbeatDetails).toMatchObject({ version, failures: { unconfigured: 12, place: 4 } });
  });
});

describe.skipIf(minisign === null)('a version signed by a key that only other workers know yet', () => {
  it('waits for one of them in every step, and is refused after five minutes (X5)', async () => {
    await begin();
    const target = giveTarget();
    const keys = new Minisign(minisign ?? '', await tempFolder());
    const storeWith = async (key: string) => {
      await keys.makeKey(key);
      const keyFile = keys.at(`${key}.key`);
      const signer = new ManifestSigner({ keyFile, password: null, publicKey: null, formerKeys: [] });
      const root = join(scene.folder, 'bundles');
      return DirectoryBundleStore.open({ root, publicUrl: 'http://localhost:8090', signer });
    };
    const version = versionAt(1);
    const signing = await storeWith('new');
    await publish(signing, version);
    await signing.moveCurrent(domain, version, 0, new Date(now));
    scene.deps.bundles = await storeWith('old');
    const { identity: storeId } = scene.deps.bundles;
    const { rollOut } = createRolloutActivities(scene.deps);
    const { promoteVersion } = createApprovalActivities(scene.deps);
    const { checkKeptVersion } = createRollbackActivities(scene.deps);
    const pinned = { domain, storeId, version };
    const rollout = { org: 'acme', target: target.name, previous: null, step: 'place' as const, force: false };
    const steps: Record<string, () => Promise<unknown>> = {
      RolloutFailed: () => rollOut({ ...pinned, ...rollout }),
      PublishRefused: () => promoteVersion({ ...pinned, stageId: 's', promote: { expected: null, publishedAt: now } }),
      VersionDamaged: () => checkKeptVersion(pinned),
    };
    for (const [type, step] of Object.entries(steps)) {
      const failures = [0, 29, 30].map((earlier) =>
        failureOf(mockActivity({ attempt: 40, ...afterFailures('unconfigured', earlier) }).run(step)),
      );
      const message = expect.stringContaining('list its public key in signing.formerKeys');
      expect(await Promise.all(failures)).toMatchObject([
        { type, message, nonRetryable: false },
        { type, message, nonRetryable: false },
        { type, message, nonRetryable: true },
      ]);
    }
  });
});

/** The store, but one of its methods fails. */
function withFault<Store extends object>(store: Store, method: keyof Store, error: Error): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === method) return async () => Promise.reject(error);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const known: Current = { version: 'v1', contentDigest: 'd1', publishedAt: '2026-11-21T04:00:00.000Z', epoch: 5 };

/** A store whose pointer is `now`, and which nobody holds. */
function storeAt(now: Current): Pick<BundleStore, 'moveCurrent' | 'current' | 'holds'> {
  return {
    current: async () => now,
    moveCurrent: async (_domain, version, epoch) => {
      if (epoch !== now.epoch) throw new PointerMoved(`at epoch ${now.epoch}, not ${epoch}`);
      return { ...now, version, epoch: epoch + 1 };
    },
    holds: {
      of: async () => null,
      noteWaiting: async () => null,
      release: async () => null,
      place: () => Promise.reject(),
    },
  };
}

const promote = (now: Current) =>
  promoteUnlessHeld(storeAt(now), 'docs.acme.example', 'v2', { expected: known, publishedAt: 0 });

describe('promoteUnlessHeld', () => {
  it('goes on where a hold that has ended left another epoch', async () => {
    expect(await promote(known)).toBeNull();
    expect(await promote({ ...known, epoch: 6 })).toBeNull();
  });

  it('never overwrites what others have put into service', async () => {
    await expect(promote({ ...known, version: 'v3', epoch: 6 })).rejects.toBeInstanceOf(PointerMoved);
    const later = { ...known, publishedAt: '2026-11-21T05:00:00.000Z', epoch: 7 };
    await expect(promote(later)).rejects.toBeInstanceOf(PointerMoved);
  });
});

const file = (path: string, content = 'a') => ({ path, bytes: 1, sha256: content.repeat(64) });

const manifest = (version: string, files: Manifest['files']): Manifest => ({
  version,
  contentDigest: version,
  archive: { sha256: version, bytes: 1, format: 'tar' },
  pages: files.length,
  files,
  source: { org: 'acme', domain: 'docs.acme.example', jobId: 'job' },
});

describe('summarizeChanges', () => {
  it('counts pages and other files apart, and names the pages', () => {
    const before = manifest('v1', [
      file('index.html'),
      file('old.html', '1'),
      file('guide.htm', 'b'),
      file('here.html', '2'),
      file('app.js'),
      file('gone.css', '3'),
    ]);
    const after = manifest('v2', [
      file('index.html'),
      file('new.html', '4'),
      file('guide.htm', 'c'),
      file('there.html', '2'),
      file('app.js', 'd'),
      file('x.png', '5'),
    ]);
    expect(summarizeChanges(before, after)).toEqual({
      against: 'v1',
      pages: { added: 1, removed: 1, changed: 1, moved: 1 },
      others: { added: 1, removed: 1, changed: 1, moved: 0 },
      listed: { added: ['new.html'], removed: ['old.html'], changed: ['guide.htm'], moved: ['there.html'] },
    });
  });

  it('finds nothing between equal lists, and everything new in a first version', () => {
    const files = [file('index.html'), file('a.js')];
    const none = { added: 0, removed: 0, changed: 0, moved: 0 };
    const second = manifest('v2', files);
    expect(summarizeChanges(manifest('v1', files), second)).toMatchObject({ pages: none, others: none });
    expect(summarizeChanges(null, second)).toMatchObject({ against: null, pages: { added: 1 }, others: { added: 1 } });
  });

  it('stays small enough for a history: twenty paths of a kind, or none when they are too long together', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => file(`page-${n}.html`));
    const changes = summarizeChanges(null, manifest('v1', many));
    expect(changes.pages.added).toBe(1_000);
    expect(changes.listed.added).toHaveLength(20);
    const long = Array.from({ length: 20 }, (_, n) => file(`${'ü'.repeat(100)}-${n}.html`));
    const cut = summarizeChanges(null, manifest('v1', long));
    expect(cut).toMatchObject({ pages: { added: 20 }, listed: { added: [] } });
    for (const result of [changes, cut]) expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(4_096);
  });
});

it('gives a browser that was ended four attempts, and one that is not there a single one', async () => {
  const failing = (mayPass: boolean, earlier: number) =>
    mockActivity(afterFailures('browser', earlier)).run(async () =>
      bundleFailure(new BrowserUnusable('the browser ended', 'memory', mayPass)),
    );
  const failures = [await failing(true, 0), await failing(true, 2), await failing(true, 3), await failing(false, 0)];
  expect(failures).toMatchObject([false, false, true, true].map((nonRetryable) => ({ nonRetryable })));
});
