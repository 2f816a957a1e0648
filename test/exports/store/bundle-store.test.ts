import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Manifest,
  NoSuchVersion,
  PointerMoved,
  StagedChanged,
  type StagedManifest,
  StoreUnreachable,
} from '../../../src/exports/store/bundle-store.ts';
import { sealOf, toJson } from '../../../src/exports/store/manifests.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';
import { filesOf, publish, sealOfStaged, siteDomain, stage, stagedManifest } from '../../tools/bundle/staged.ts';
import { backends, type StoreScene } from '../../tools/bundle/store-backends.ts';

const v1 = '20261121T040200Z-aaaaaaaaaaaa';
const v2 = '20261122T040200Z-bbbbbbbbbbbb';
const now = new Date('2026-11-23T00:00:00Z');
const versionAt = (day: number) => `202612${String(day).padStart(2, '0')}T000000Z-${String(day).padStart(12, '0')}`;
const later = (days: number) => new Date(Date.now() + days * 24 * 3_600_000);

for (const backend of backends) {
  describe.skipIf(!backend.available)(`the bundle store: ${backend.kind}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    it('publishes a staged archive in the documented layout', async () => {
      const { store, files, read } = await backend.scene();
      const staged = await stage(store, 'run-1');
      const manifest = await store.publish('run-1', v1, sealOfStaged());
      await store.discardStaged('run-1');
      const current = await store.moveCurrent(siteDomain, v1, 0, now);

      const folder = `${siteDomain}/versions/${v1}`;
      expect(manifest).toEqual({ version: v1, ...staged });
      const documented = (path: string) => !path.endsWith('in-use.json') && !path.startsWith('.in-service/');
      expect((await files()).filter(documented)).toEqual([
        `${siteDomain}/current.json`,
        `${folder}/bundle.tar.gz`,
        `${folder}/manifest.json`,
      ]);
      expect((await read(`${folder}/bundle.tar.gz`)).toString()).toBe('archive bytes');
      const text = (await read(`${folder}/manifest.json`)).toString();
      expect(JSON.parse(text)).toEqual(manifest);
      expect(text).toContain('\n  "version"');
      expect(JSON.parse((await read(`${siteDomain}/current.json`)).toString())).toEqual(current);
      expect(current).toEqual({
        version: v1,
        contentDigest: staged.contentDigest,
        publishedAt: '2026-11-23T00:00:00.000Z',
        epoch: 1,
      });
      expect(await store.withArchive(siteDomain, v1, (path) => readFile(path, 'utf8'))).toBe('archive bytes');
      expect(store.urlOf(siteDomain, manifest)).toBe(`http://localhost:8090/${folder}/bundle.tar.gz`);
      expect(await store.domains()).toEqual([siteDomain]);
    });

    it('keeps its identity, even when many processes open it at once', async () => {
      const { store, open, remove } = await backend.scene();
      expect((await open()).identity).toBe(store.identity);
      await remove('.store.json');
      const ids = await Promise.all(Array.from({ length: 8 }, async () => (await open()).identity));
      expect(new Set(ids).size).toBe(1);
      expect(ids[0]).not.toBe(store.identity);
      await expect(store.checkWritable()).resolves.toBeUndefined();
    });

    it('returns the same staging file for the same stage id, and discards it', async () => {
      const { store, files } = await backend.scene();
      const file = await store.stagingFile('run-1');
      await writeFile(file, 'half');
      expect(await store.stagingFile('run-1')).toBe(file);
      await store.discardStaged('run-1');
      await store.discardStaged('never-there');
      await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' });
      expect(await files()).toEqual([]);
    });

    it('publishes on one machine what another has verified', async () => {
      const { store, open } = await backend.scene();
      const staged = await stage(store, 'run-1');
      const other = await open();
      expect(await other.publish('run-1', v1, sealOfStaged())).toEqual({ version: v1, ...staged });
      await other.discardStaged('run-1');
      expect(await store.manifest(siteDomain, v1)).toEqual({ version: v1, ...staged });
    });

    it('publishes the same content twice as once, and never changes a version', async () => {
      const { store } = await backend.scene();
      await stage(store, 'run-1');
      await stage(store, 'run-2');
      await stage(store, 'run-3', 'other bytes');
      const manifest = await store.publish('run-1', v1, sealOfStaged());
      expect(await store.publish('run-1', v1, sealOfStaged())).toEqual(manifest);
      expect(await store.publish('run-2', v1, sealOfStaged())).toEqual(manifest);
      await expect(store.publish('run-3', v1, sealOfStaged('other bytes'))).rejects.toMatchObject({
        name: 'VersionConflict',
      });
      expect(await store.withArchive(siteDomain, v1, (path) => readFile(path, 'utf8'))).toBe('archive bytes');
    });

    it('shows no version that is stopped, or not confirmed once its archive is there (E11)', async () => {
      const { store } = await backend.scene();
      await stage(store, 'run-1');
      await expect(store.publish('run-1', v1, sealOfStaged(), { signal: AbortSignal.abort() })).rejects.toThrow();
      const confirm = () => Promise.reject(new Error('given up'));
      await expect(store.publish('run-1', v1, sealOfStaged(), { confirm })).rejects.toThrow('given up');
      expect(await store.versions(siteDomain)).toEqual([]);
      await expect(store.manifest(siteDomain, v1)).rejects.toBeInstanceOf(NoSuchVersion);
      expect(await store.publish('run-1', v1, sealOfStaged())).toMatchObject({ version: v1 });
    });

    it.skipIf(backend.kind === 'directory')(
      'completes what a dead publisher left: an archive without a manifest',
      async () => {
        const { store, write } = await backend.scene();
        await stage(store, 'run-1');
        await write(`${siteDomain}/versions/${v1}/bundle.tar.gz`, 'archive bytes');
        expect(await store.versions(siteDomain)).toEqual([]);
        await expect(store.manifest(siteDomain, v1)).rejects.toBeInstanceOf(NoSuchVersion);
        await store.publish('run-1', v1, sealOfStaged());
        expect(await store.versions(siteDomain)).toHaveLength(1);
      },
    );

    // On a busy machine, versitygw lets a second upload replace the first once in hundreds of rounds.
    it('lets one of many publishers of the same name win, whole (P3)', { retry: 2 }, async () => {
      const { store, open, read, unfinished } = await backend.scene();
      const contents = Array.from({ length: 6 }, (_, n) => `content ${n}`);
      await Promise.all(contents.map((content, n) => stage(store, `run-${n}`, content)));
      // A gateway on a file system may refuse what meets another request: the worker tries again, and so does this.
      const publishing = async (n: number, left = 5): Promise<Manifest> =>
        (await open()).publish(`run-${n}`, v1, sealOfStaged(`content ${n}`)).catch((error: unknown) => {
          if (left === 0 || !(error instanceof StoreUnreachable)) throw error;
          return publishing(n, left - 1);
        });
      const results = await Promise.allSettled(contents.map((_, n) => publishing(n)));
      const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(won).toHaveLength(1);
      expect(sha256(await read(`${siteDomain}/versions/${v1}/bundle.tar.gz`))).toBe(won[0]?.archive.sha256);
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ name: 'VersionConflict' });
      }
      expect(await unfinished()).toBe(0);
    });

    it('shows nothing when publishing fails: bytes changed after verification, archive gone, nothing staged', async () => {
      const { store, files, unfinished } = await backend.scene();
      const attempt = async (spoil: (file: string) => Promise<void>) => {
        const file = await store.stagingFile('run-1');
        await writeFile(file, 'archive bytes');
        await spoil(file);
        const staged = stagedManifest('archive bytes');
        await store.saveStaged('run-1', staged);
        await store.publish('run-1', v1, sealOf(staged));
      };
      const spoilt = [
        (file: string) => appendFile(file, 'x'),
        (file: string) => writeFile(file, 'ARCHIVE BYTES'),
        (file: string) => rm(file),
      ];
      for (const spoil of spoilt) await expect(attempt(spoil)).rejects.toMatchObject({ name: 'StagedChanged' });
      await expect(store.publish('run-2', v1, sealOfStaged())).rejects.toMatchObject({ name: 'StagedChanged' });
      expect(await store.versions(siteDomain)).toEqual([]);
      expect((await files()).filter((path) => path.startsWith(siteDomain))).toEqual([]);
      expect(await unfinished()).toBe(0);
    });

    it('publishes nothing but what was verified: a record or an archive planted in the staging area is refused (E10)', async () => {
      const { store, open, files, read, write, unfinished } = await backend.scene();
      const staged = await stage(store, 'run-1');
      const record = '.staging/run-1/staged.json';
      const written = (await read(record)).toString();
      const other = { ...stagedManifest('OTHER  BYTES!', filesOf('other')) };
      const plant = (manifest: StagedManifest) => write(record, toJson(manifest));
      const archive = backend.kind === 'directory' ? 'archive' : staged.archive.sha256;
      const planted: [string, () => Promise<void>][] = [
        ['another list of files', () => plant({ ...staged, files: other.files })],
        ['another content', () => plant({ ...staged, files: other.files, contentDigest: other.contentDigest })],
        ['another number of pages', () => plant({ ...staged, pages: 7 })],
        ['the size of a file', () => plant({ ...staged, files: staged.files.map((file) => ({ ...file, bytes: 9 })) })],
        ['another job', () => plant({ ...staged, source: { ...staged.source, jobId: 'job_2' } })],
        ['another site', () => plant({ ...staged, source: { ...staged.source, domain: 'docs.other.example' } })],
        ['no record', () => write(record, '{}')],
        ['another archive', () => write(`.staging/run-1/${archive}`, 'ARCHIVE BYTES')],
      ];
      const refused: string[] = [];
      for (const [index, [what, change]] of planted.entries()) {
        await change();
        const publishing = (await open()).publish('run-1', versionAt(index), sealOf(staged));
        const failure = await publishing.catch((error: unknown) => error);
        if (failure instanceof StagedChanged) refused.push(what);
        await write(record, written);
      }
      expect(refused).toEqual(planted.map(([what]) => what));
      expect((await files()).filter((path) => !path.startsWith('.staging/'))).toEqual([]);
      expect(await unfinished()).toBe(0);
      // The version's name is free for the archive that was verified.
      await stage(store, 'run-2');
      const last = versionAt(planted.length - 1);
      expect(await store.publish('run-2', last, sealOf(staged))).toEqual({ version: last, ...staged });
    });

    it('lists whole versions only, newest first (P6)', async () => {
      const { store, write, remove } = await backend.scene();
      const at = (version: string, file: string) => `${siteDomain}/versions/${version}/${file}`;
      const [cut, torn, bare, gone] = [3, 4, 5, 6].map(versionAt) as [string, string, string, string];
      for (const version of [v2, v1, cut, torn, gone]) await publish(store, version);
      await write(at(cut, 'bundle.tar.gz'), 'arc');
      await write(at(torn, 'manifest.json'), '{"version":');
      await write(at(bare, 'bundle.tar.gz'), 'archive bytes');
      await remove(at(gone, 'bundle.tar.gz'));
      await write(`${siteDomain}/versions/.hidden/manifest.json`, '{}');
      const listed = await store.versions(siteDomain);
      expect(listed.map(({ version }) => version)).toEqual([v2, v1]);
      expect(listed[0]).toEqual({
        version: v2,
        contentDigest: (await store.manifest(siteDomain, v2)).contentDigest,
        publishedAt: '2026-11-22T04:02:00.000Z',
        pages: 1,
        bytes: 13,
        jobId: 'job_1',
      });
      expect(await store.versions('never.example')).toEqual([]);
      for (const version of [cut, bare, gone]) {
        await expect(store.manifest(siteDomain, version)).rejects.toBeInstanceOf(NoSuchVersion);
      }
      const stored = (await store.inventory(siteDomain)).map(({ version, files }) => [
        version,
        files.map(({ name }) => name),
      ]);
      expect(stored).toEqual([
        [gone, ['manifest.json']],
        [bare, ['bundle.tar.gz']],
        [torn, ['bundle.tar.gz', 'manifest.json']],
        [cut, ['bundle.tar.gz', 'manifest.json']],
        [v2, ['bundle.tar.gz', 'manifest.json']],
        [v1, ['bundle.tar.gz', 'manifest.json']],
      ]);
    });

    it('moves the pointer by compare-and-swap (P3)', async () => {
      const { store } = await backend.scene();
      await publish(store, v1);
      await publish(store, v2);
      await store.moveCurrent(siteDomain, v1, 0, now);
      await expect(store.moveCurrent(siteDomain, v2, 0, now)).rejects.toBeInstanceOf(PointerMoved);
      expect(await store.moveCurrent(siteDomain, v1, 0, now)).toMatchObject({ version: v1, epoch: 1 });
      expect(await store.moveCurrent(siteDomain, v2, 1, now)).toMatchObject({ version: v2, epoch: 2 });
      expect(await store.moveCurrent(siteDomain, v1, 2, now)).toMatchObject({ version: v1, epoch: 3 });
      await expect(store.moveCurrent(siteDomain, 'none', 3, now)).rejects.toBeInstanceOf(NoSuchVersion);
      expect(await store.current(siteDomain)).toMatchObject({ version: v1, epoch: 3 });
    });

    it('lets exactly one of many racing movers win (P3)', async () => {
      const { store, open } = await backend.scene();
      await stage(store, 'run-1');
      const versions = Array.from({ length: 8 }, (_, n) => versionAt(n + 1));
      for (const version of versions) await store.publish('run-1', version, sealOfStaged());
      const results = await Promise.allSettled(
        versions.map(async (version) => (await open()).moveCurrent(siteDomain, version, 0, now)),
      );
      const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(won).toEqual([await store.current(siteDomain)]);
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(PointerMoved);
      }
    });

    it('keeps the pointer from movers of before a claim, even from one that is about to move it (E11)', async () => {
      const { store, open } = await backend.scene();
      await publish(store, v1);
      await publish(store, v2);
      await store.moveCurrent(siteDomain, v1, 0, now);
      const [early, late] = [new Date(now.getTime() + 1_000), new Date(now.getTime() + 2_000)];
      const other = await open();
      const confirm = async () => {};
      const claiming = { since: early, confirm: () => other.claim(siteDomain, late) };
      await expect(store.moveCurrent(siteDomain, v2, 1, now, claiming)).rejects.toBeInstanceOf(PointerMoved);
      // An older claim takes nothing back.
      await other.claim(siteDomain, early);
      const { epoch = 0, ...current } = (await store.current(siteDomain)) ?? {};
      expect(current).toMatchObject({ version: v1, publishedAt: now.toISOString() });
      const early2 = store.moveCurrent(siteDomain, v2, epoch, now, { since: early, confirm });
      await expect(early2).rejects.toBeInstanceOf(PointerMoved);
      expect(await store.moveCurrent(siteDomain, v2, epoch, now, { since: late, confirm })).toMatchObject({
        version: v2,
      });
    });

    it('keeps the first pointer from a mover of before a claim, too (E11)', async () => {
      const { store, open } = await backend.scene();
      await publish(store, v1);
      const other = await open();
      const [early, late, later] = [1_000, 2_000, 3_000].map((ms) => new Date(now.getTime() + ms));
      if (!early || !late || !later) throw new RangeError('three moments');
      for (const [since, next] of [
        [early, late],
        [late, later],
      ] as const) {
        const claiming = { since, confirm: () => other.claim(siteDomain, next) };
        await expect(store.moveCurrent(siteDomain, v1, 0, now, claiming)).rejects.toBeInstanceOf(PointerMoved);
        expect(await store.current(siteDomain)).toBeNull();
      }
      const confirm = async () => {};
      expect(await store.moveCurrent(siteDomain, v1, 0, now, { since: later, confirm })).toMatchObject({
        version: v1,
        epoch: 1,
      });
    });

    it('lets everybody move a pointer that a wrong clock has claimed ahead, and says who claimed it', async () => {
      const { store } = await backend.scene();
      await publish(store, v1);
      await publish(store, v2);
      const confirm = async () => {};
      const move = (version: string, epoch: number) =>
        store.moveCurrent(siteDomain, version, epoch, now, { since: new Date(), confirm });
      await store.claim(siteDomain, new Date(Date.now() + 24 * 3_600_000));
      expect(await move(v1, 0)).toMatchObject({ version: v1 });
      const soon = new Date(Date.now() + 60_000);
      await store.claim(siteDomain, soon);
      const { epoch = 0 } = (await store.current(siteDomain)) ?? {};
      await expect(move(v2, epoch)).rejects.toThrow(
        `a run that began this step at ${soon.toISOString()} has claimed docs.acme.example`,
      );
    });

    it('remembers rollouts by target, together with those made at the same time', async () => {
      const { store, open } = await backend.scene();
      expect(await store.rolledOut(siteDomain, 'directory:./site')).toBeNull();
      const targets = ['directory:./site', 'directory:/srv', 'constructor', 'helm:x'];
      await Promise.all(targets.map(async (target, n) => (await open()).recordRollout(siteDomain, target, `v${n}`)));
      const known = await Promise.all(targets.map((target) => store.rolledOut(siteDomain, target)));
      expect(known).toEqual(['v0', 'v1', 'v2', 'v3']);
      expect(await store.rolledOut(siteDomain, 'toString')).toBeNull();
    });

    it.each(['', '.', '..', '../x', 'a/b', 'a\\b', '.hidden', 'a\0b'])('refuses the name %j', async (name) => {
      const { store } = await backend.scene();
      await expect(store.current(name)).rejects.toThrow(RangeError);
      await expect(store.manifest(siteDomain, name)).rejects.toThrow(RangeError);
      await expect(store.stagingFile(name)).rejects.toThrow(RangeError);
      await expect(store.open(siteDomain, v1, name)).rejects.toThrow(RangeError);
    });

    it('reads ranges of a published file', async () => {
      const { store } = await backend.scene();
      await publish(store, v1, '0123456789');
      const text = async (range?: { start: number; end: number }) =>
        Buffer.concat((await (await store.open(siteDomain, v1, 'bundle.tar.gz', range))?.toArray()) ?? []).toString();
      expect([await text(), await text({ start: 2, end: 4 }), await text({ start: 9, end: 9 })]).toEqual([
        '0123456789',
        '234',
        '9',
      ]);
      expect(await store.open(siteDomain, v1, 'bundle.zip')).toBeNull();
      expect(await store.open(siteDomain, v2, 'bundle.tar.gz')).toBeNull();
    });

    describe('retention', () => {
      async function withVersions(
        count: number,
      ): Promise<StoreScene & { versions: string[]; left(): Promise<string[]> }> {
        const scene = await backend.scene();
        await stage(scene.store, 'run-1');
        const versions = Array.from({ length: count }, (_, n) => versionAt(n + 1));
        for (const version of versions) await scene.store.publish('run-1', version, sealOfStaged());
        await scene.store.discardStaged('run-1');
        const left = async () => (await scene.store.inventory(siteDomain)).map(({ version }) => version).sort();
        return { ...scene, versions, left };
      }

      it('keeps the newest, and every version that is current, held, recorded at a target or being rolled out', async () => {
        const { store, left, files } = await withVersions(9);
        await store.moveCurrent(siteDomain, versionAt(1), 0, now);
        await store.recordRollout(siteDomain, 'helmValues:a', versionAt(2));
        await store.startRollout(siteDomain, 'directory:b', versionAt(3));
        await store.holds.place(siteDomain, { version: versionAt(4), reason: null, at: now });
        const removed = await store.prune(siteDomain, 2);
        expect(removed.sort()).toEqual([5, 6, 7].map(versionAt));
        expect(await left()).toEqual([1, 2, 3, 4, 8, 9].map(versionAt));
        expect(await store.prune(siteDomain, 2)).toEqual([]);
        await store.holds.release(siteDomain);
        await store.startRollout(siteDomain, 'directory:b', versionAt(9));
        expect((await store.prune(siteDomain, 1)).sort()).toEqual([3, 4, 8].map(versionAt));
        expect(await left()).toEqual([1, 2, 9].map(versionAt));
        expect((await files()).filter((path) => path.includes(versionAt(8)))).toEqual([]);
      });

      it('keeps what was in service before, whatever came after it and never was', async () => {
        const { store, left } = await withVersions(6);
        await store.moveCurrent(siteDomain, versionAt(1), 0, now);
        await store.moveCurrent(siteDomain, versionAt(2), 1, now);
        expect((await store.prune(siteDomain, 2)).sort()).toEqual([3, 4].map(versionAt));
        expect(await left()).toEqual([1, 2, 5, 6].map(versionAt));
      });

      it('tells what a target runs only while no rollout to it is cut off, back to the recorded version too', async () => {
        const { store } = await withVersions(2);
        const rollOut = async (version: string) => {
          await store.startRollout(siteDomain, 'run:a', version);
          expect(await store.rolledOut(siteDomain, 'run:a')).toBeNull();
          await store.recordRollout(siteDomain, 'run:a', version);
          expect(await store.rolledOut(siteDomain, 'run:a')).toBe(version);
        };
        await rollOut(versionAt(1));
        await store.startRollout(siteDomain, 'run:a', versionAt(2));
        await rollOut(versionAt(1));
        await store.startRollout(siteDomain, 'run:a', versionAt(2));
        await store.recordRollout(siteDomain, 'run:a', versionAt(1));
        expect(await store.rolledOut(siteDomain, 'run:a')).toBeNull();
      });

      it('leaves other names alone, and does nothing for a site without versions', async () => {
        const { store, write, left } = await withVersions(2);
        await write(`${siteDomain}/versions/mine/note.txt`, 'mine');
        await store.prune(siteDomain, 1);
        expect(await left()).toEqual([versionAt(2), 'mine']);
        expect(await store.prune('never.example', 1)).toEqual([]);
      });

      it('never takes a version from a rollout or a promotion that has begun (P7)', async () => {
        const { store, open, versions, left } = await withVersions(8);
        const old = versions.slice(0, -1);
        const [pruner, user] = [await open(), await open()];
        const results = await Promise.all([
          pruner.prune(siteDomain, 1),
          ...old.map((version, n) => settled(user.startRollout(siteDomain, `target-${n}`, version))),
          settled(store.moveCurrent(siteDomain, old[3] ?? '', 0, now)),
        ]);
        const [removed, ...uses] = results;
        const there = new Set(await left());
        const using = [...old, old[3] ?? ''];
        for (const [index, use] of uses.entries()) {
          const version = using[index] ?? '';
          if (use instanceof Error) expect(use).toBeInstanceOf(NoSuchVersion);
          else expect(there.has(version)).toBe(true);
        }
        for (const version of removed) expect(there.has(version)).toBe(false);
        expect(there.has(versions.at(-1) ?? '')).toBe(true);
        const current = await store.current(siteDomain);
        if (current) expect((await store.manifest(siteDomain, current.version)).version).toBe(current.version);
      });

      it('does not start to use a removed version', async () => {
        const { store } = await withVersions(2);
        await store.prune(siteDomain, 1);
        await expect(store.startRollout(siteDomain, 't', versionAt(1))).rejects.toBeInstanceOf(NoSuchVersion);
        await expect(store.moveCurrent(siteDomain, versionAt(1), 0, now)).rejects.toBeInstanceOf(NoSuchVersion);
        expect(await store.current(siteDomain)).toBeNull();
      });

      it('says what is in service and held, of the domains that were asked for', async () => {
        const { store, remove } = await withVersions(3);
        const of = async (...domains: string[]) => Object.fromEntries(await store.inService(domains));
        expect(await of(siteDomain)).toEqual({});
        await store.moveCurrent(siteDomain, versionAt(1), 0, now);
        await store.moveCurrent(siteDomain, versionAt(2), 1, now);
        await store.moveCurrent(siteDomain, versionAt(2), 1, now);
        expect(await of(siteDomain)).toEqual({ [siteDomain]: { current: versionAt(2), held: null } });
        await store.holds.place(siteDomain, { version: null, reason: null, at: now });
        const held = { [siteDomain]: { current: versionAt(2), held: versionAt(2) } };
        expect(await of('other.example', siteDomain)).toEqual(held);
        // The command that placed the hold died before it was marked: the next export that it stops makes up for that.
        if (backend.kind === 's3') await remove(`.in-service/${siteDomain}/held/${versionAt(2)}`);
        await store.holds.noteWaiting(siteDomain, versionAt(3));
        expect(await of(siteDomain)).toEqual(held);
        await store.holds.place(siteDomain, { version: versionAt(1), reason: null, at: now });
        expect(await of(siteDomain)).toMatchObject({ [siteDomain]: { held: versionAt(1) } });
        await store.holds.release(siteDomain);
        const { epoch } = (await store.current(siteDomain)) ?? expect.fail();
        await store.moveCurrent(siteDomain, versionAt(1), epoch, now);
        expect(await of(siteDomain)).toEqual({ [siteDomain]: { current: versionAt(1), held: null } });
        expect(await of('other.example')).toEqual({});
      });

      it('looks for leftovers of one domain only, and for those of all at most once an hour', async () => {
        const { store, files } = await backend.scene();
        const minutesLater = (minutes: number) => new Date(later(8).getTime() + minutes * 60_000);
        await store.removeAbandoned(siteDomain, minutesLater(0));
        await stage(store, 'run-1');
        await store.removeAbandoned(siteDomain, minutesLater(50));
        expect(await files()).not.toEqual([]);
        await store.removeAbandoned(siteDomain, minutesLater(70));
        expect(await files()).toEqual([]);
      });

      it('removes abandoned downloads, and no others (P5)', async () => {
        const { store, files } = await backend.scene();
        await stage(store, 'run-1');
        const local = await store.stagingFile('01a21fb8-44e5-73ec-8274-721aefb48395');
        await writeFile(local, 'half');
        const before = await files();
        await store.removeAbandoned(siteDomain, later(6));
        expect(await files()).toEqual(before);
        expect(await readFile(local, 'utf8')).toBe('half');
        await store.removeAbandoned(siteDomain, later(8));
        expect(await files()).toEqual([]);
        await expect(readFile(local)).rejects.toMatchObject({ code: 'ENOENT' });
      });
    });
  });
}

/** The outcome, where an error counts as a result. */
async function settled(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    return error;
  }
}
