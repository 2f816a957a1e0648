import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { returnSite } from '../../../src/exports/rollout/roll-out-version.ts';
import { type BundleStore, NoSuchVersion, PointerMoved, SiteHeld } from '../../../src/exports/store/bundle-store.ts';
import { filesOf, publish, siteDomain, stagedManifest } from '../../tools/bundle/staged.ts';
import { backends } from '../../tools/bundle/store-backends.ts';

/** Content differs from day to day; the name is that of its digest where a manifest has to be proved. */
const digestOf = (day: number) => stagedManifest('', filesOf(`content of ${day}`)).contentDigest.slice(0, 12);
const versionAt = (day: number) => `202612${String(day).padStart(2, '0')}T000000Z-${digestOf(day)}`;
const now = new Date('2026-12-24T00:00:00Z');
const request = { version: null, reason: null, at: now };

for (const backend of backends) {
  describe.skipIf(!backend.available)(`holds of the bundle store: ${backend.kind}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    /** A store whose first version is current. */
    async function withVersions(count: number) {
      const scene = await backend.scene();
      for (let day = 1; day <= count; day += 1) await publish(scene.store, versionAt(day), `content of ${day}`);
      await scene.store.moveCurrent(siteDomain, versionAt(1), 0, now);
      return scene;
    }
    const epochOf = async (store: BundleStore) => (await store.current(siteDomain))?.epoch ?? 0;
    const move = async (store: BundleStore, version: string) =>
      store.moveCurrent(siteDomain, version, await epochOf(store), now);

    it('keeps the pointer where it is until released, seen by every machine', async () => {
      const { store, open } = await withVersions(2);
      expect(await store.holds.of(siteDomain)).toBeNull();
      const hold = { version: versionAt(1), since: now.toISOString(), reason: 'broken search', waiting: null };
      expect(await store.holds.place(siteDomain, { ...request, reason: 'broken search' })).toEqual(hold);
      const other = await open();
      expect(await other.holds.of(siteDomain)).toEqual(hold);
      await expect(move(other, versionAt(2))).rejects.toBeInstanceOf(SiteHeld);
      expect((await store.current(siteDomain))?.version).toBe(versionAt(1));
      expect(await other.holds.release(siteDomain)).toEqual(hold);
      expect(await store.holds.release(siteDomain)).toBeNull();
      expect((await move(store, versionAt(2))).version).toBe(versionAt(2));
    });

    it('lets the pointer move to the version that is held, from wherever it is', async () => {
      const { store } = await withVersions(3);
      await move(store, versionAt(3));
      await store.holds.place(siteDomain, { ...request, version: versionAt(2) });
      await expect(move(store, versionAt(1))).rejects.toBeInstanceOf(SiteHeld);
      expect((await move(store, versionAt(2))).version).toBe(versionAt(2));
    });

    it('keeps its time and the waiting version when placed again, and takes a new reason', async () => {
      const { store } = await withVersions(2);
      expect(await store.holds.noteWaiting(siteDomain, versionAt(2))).toBeNull();
      await store.holds.place(siteDomain, { ...request, reason: 'first' });
      await store.holds.noteWaiting(siteDomain, versionAt(2));
      const again = await store.holds.place(siteDomain, { version: null, reason: 'second', at: new Date() });
      expect(again).toEqual({
        version: versionAt(1),
        since: now.toISOString(),
        reason: 'second',
        waiting: versionAt(2),
      });
      // The hold moves to the version that waited: none waits any more.
      expect(await store.holds.place(siteDomain, { ...request, version: versionAt(2) })).toMatchObject({
        waiting: null,
      });
    });

    it('tells a hold of a check from that of a person, who comes first (E7)', async () => {
      const { store } = await withVersions(3);
      const refused = { version: versionAt(2), contentDigest: 'ab'.repeat(32) };
      const request1 = { version: versionAt(1), reason: 'old pages', at: now, refused };
      const hold = { version: versionAt(1), since: now.toISOString(), reason: 'old pages', waiting: null, refused };
      expect(await store.holds.place(siteDomain, request1)).toEqual(hold);
      expect(await store.holds.place(siteDomain, { ...request1, at: new Date() })).toEqual(hold);
      await expect(move(store, versionAt(3))).rejects.toMatchObject({ hold: { refused } });
      // Nothing waits for the release, and retention leaves what was refused: its content is not published again.
      expect(await store.holds.noteWaiting(siteDomain, versionAt(3))).toBeNull();
      expect(await store.prune(siteDomain, 1)).toEqual([]);
      expect(await store.holds.release(siteDomain, versionAt(3))).toBeNull();
      expect(await store.holds.release(siteDomain, versionAt(2))).toEqual(hold);
      expect((await move(store, versionAt(3))).version).toBe(versionAt(3));
      // A person's hold stays one, and takes the place of a check's.
      const person = await store.holds.place(siteDomain, request);
      expect(await store.holds.place(siteDomain, request1)).toEqual(person);
      expect(await store.holds.release(siteDomain, versionAt(2))).toBeNull();
      await store.holds.release(siteDomain);
      await store.holds.place(siteDomain, request1);
      expect(await store.holds.place(siteDomain, { ...request, version: versionAt(1) })).not.toHaveProperty('refused');
    });

    it('takes the pointer away only from the version that is named', async () => {
      const { store } = await withVersions(2);
      await store.unsetCurrent(siteDomain, versionAt(2));
      expect((await store.current(siteDomain))?.version).toBe(versionAt(1));
      await store.unsetCurrent(siteDomain, versionAt(1));
      await store.unsetCurrent(siteDomain, versionAt(1));
      expect(await store.current(siteDomain)).toBeNull();
      expect((await store.inService([siteDomain])).get(siteDomain)?.current ?? null).toBeNull();
      expect((await store.moveCurrent(siteDomain, versionAt(2), 0, now)).epoch).toBe(1);
    });

    it('takes the pointer away in one step: a move in between stays', async () => {
      const { store, open } = await withVersions(2);
      const other = await open();
      for (let round = 1; round <= 20; round += 1) {
        const { epoch = 0 } =
          (await store.current(siteDomain)) ?? (await store.moveCurrent(siteDomain, versionAt(1), 0, now));
        const [, moved] = await Promise.allSettled([
          store.unsetCurrent(siteDomain, versionAt(1)),
          other.moveCurrent(siteDomain, versionAt(2), epoch, now),
        ]);
        const left = moved.status === 'fulfilled' ? versionAt(2) : undefined;
        expect((await store.current(siteDomain))?.version).toBe(left);
        expect((await store.inService([siteDomain])).get(siteDomain)?.current ?? undefined).toBe(left);
        await store.unsetCurrent(siteDomain, versionAt(2));
      }
    });

    it('returns a refused version to the one that was in service before it, whatever else is kept (E9)', async () => {
      const { store } = await withVersions(6);
      const refuse = (version: string) =>
        returnSite(store, { domain: siteDomain, version, reason: 'web: old pages', at: now });
      // Versions 2 and 5 have never been in service; 3 was refused.
      await move(store, versionAt(3));
      for (const _ of ['first', 'again']) expect(await refuse(versionAt(3))).toBe(versionAt(1));
      await store.holds.release(siteDomain);
      await move(store, versionAt(4));
      await move(store, versionAt(6));
      for (const _ of ['first', 'again']) expect(await refuse(versionAt(6))).toBe(versionAt(4));
      await store.holds.release(siteDomain);
      expect(await refuse(versionAt(4))).toBe(versionAt(1));
      await store.holds.release(siteDomain);
      for (const _ of ['first', 'again']) expect(await refuse(versionAt(1))).toBeNull();
      expect(await store.current(siteDomain)).toBeNull();
      expect(await store.holds.of(siteDomain)).toMatchObject({ refused: { version: versionAt(1) } });
      // What retention has removed meanwhile is passed over.
      await store.holds.release(siteDomain);
      for (const day of [2, 3, 4]) await move(store, versionAt(day));
      await store.withdraw(siteDomain, versionAt(3));
      expect(await refuse(versionAt(4))).toBe(versionAt(2));
    });

    it('refuses to hold at a missing version', async () => {
      const { store } = await withVersions(1);
      const place = (version: string | null, domain = siteDomain) => store.holds.place(domain, { ...request, version });
      await expect(place(versionAt(9))).rejects.toBeInstanceOf(NoSuchVersion);
      await expect(place(null, 'never.example')).rejects.toBeInstanceOf(NoSuchVersion);
      expect(await store.holds.of(siteDomain)).toBeNull();
      expect(await store.holds.of('never.example')).toBeNull();
    });

    it('retention keeps the held version and the one that waits for the release', async () => {
      const { store } = await withVersions(6);
      await store.holds.place(siteDomain, { ...request, version: versionAt(2) });
      await store.holds.noteWaiting(siteDomain, versionAt(3));
      expect((await store.prune(siteDomain, 1)).sort()).toEqual([4, 5].map(versionAt));
      await store.holds.release(siteDomain);
      expect((await store.prune(siteDomain, 1)).sort()).toEqual([2, 3].map(versionAt));
    });

    it('withdraws a version, unless something uses it', async () => {
      const { store } = await withVersions(4);
      await store.startRollout(siteDomain, 'directory:a', versionAt(2));
      await store.recordRollout(siteDomain, 'directory:b', versionAt(3));
      for (const day of [1, 2, 3, 4, 4, 9]) await store.withdraw(siteDomain, versionAt(day));
      expect((await store.inventory(siteDomain)).map(({ version }) => version)).toEqual([3, 2, 1].map(versionAt));
    });

    it('is never overtaken: a promotion moves the pointer before the hold or not at all', async () => {
      const { store, open } = await withVersions(8);
      const movers = await Promise.all([2, 3, 4, 5].map(() => open()));
      const epoch = await epochOf(store);
      const [hold, ...moves] = await Promise.all([
        store.holds.place(siteDomain, request),
        ...movers.map((mover, n) =>
          mover.moveCurrent(siteDomain, versionAt(n + 2), epoch, now).then(
            () => null,
            (error: unknown) => error,
          ),
        ),
      ]);
      for (const end of moves) {
        if (end !== null) expect(end instanceof SiteHeld || end instanceof PointerMoved).toBe(true);
      }
      expect((await store.current(siteDomain))?.version).toBe(hold.version);
      expect((await store.holds.of(siteDomain))?.version).toBe(hold.version);
    });
  });
}
