import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BundleStore, NoSuchVersion } from '../../../src/exports/store/bundle-store.ts';
import { recordPath, records, toJson } from '../../../src/exports/store/manifests.ts';
import { S3BundleStore } from '../../../src/exports/store/s3-store.ts';
import { publish, siteDomain } from '../../tools/bundle/staged.ts';
import { backends, s3Backend, s3Server } from '../../tools/bundle/store-backends.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { pausingProxy } from '../../tools/proxies/pausing-proxy.ts';

const versionAt = (day: number) => `202612${String(day).padStart(2, '0')}T000000Z-${String(day).padStart(12, '0')}`;
const now = new Date('2026-12-24T00:00:00Z');
const [OLD, NEW] = [versionAt(1), versionAt(3)];
const target = 'directory:./site';

/** What takes the old version into use, and whether it is in use afterwards. */
const uses = {
  hold: {
    begin: (store: BundleStore) => store.holds.place(siteDomain, { version: OLD, reason: null, at: now }),
    isUsed: async (store: BundleStore) => (await store.holds.of(siteDomain))?.version === OLD,
  },
  promotion: {
    begin: (store: BundleStore) => store.moveCurrent(siteDomain, OLD, 1, now),
    isUsed: async (store: BundleStore) => (await store.current(siteDomain))?.version === OLD,
  },
  rollout: {
    begin: (store: BundleStore) => store.startRollout(siteDomain, target, OLD),
    isUsed: null,
  },
};
type Use = (typeof uses)[keyof typeof uses];
const named = Object.entries(uses).map(([name, use]) => ({ name, use }));

/** Three versions, of which the newest is current. */
async function fill(store: BundleStore): Promise<BundleStore> {
  for (const day of [1, 2, 3]) await publish(store, versionAt(day), `content of ${day}`);
  await store.moveCurrent(siteDomain, NEW, 0, now);
  return store;
}

const prune = (store: BundleStore) => store.prune(siteDomain, 1);
const ending = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

/** The version is refused and removed, or taken into use and kept. */
async function expectOneOfBoth(store: BundleStore, { isUsed }: Use, end: unknown) {
  const kept = (await store.versions(siteDomain)).map(({ version }) => version);
  const begun = end === null;
  if (!begun) expect(end).toBeInstanceOf(NoSuchVersion);
  expect({ begun, kept }).toEqual({ begun, kept: begun ? [NEW, OLD] : [NEW] });
  if (isUsed !== null) expect(await isUsed(store)).toBe(begun);
  expect((await store.inventory(siteDomain)).map(({ version }) => version)).toEqual(kept);
}

for (const backend of backends) {
  describe.skipIf(!backend.available)(`a condemned version: ${backend.kind}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    it.each(named)('that is taken into use at that moment stays or is refused: $name', async ({ use }) => {
      for (let round = 0; round < 5; round += 1) {
        const { store, open } = await backend.scene();
        await fill(store);
        const other = await open();
        const beginLate = async () => {
          await sleep(round);
          return ending(use.begin(other));
        };
        const [end] = await Promise.all([beginLate(), prune(store)]);
        await expectOneOfBoth(store, use, end);
      }
    });
  });
}

describe.skipIf(!s3Backend.available)('a condemned version of a bucket', () => {
  beforeAll(() => s3Backend.start());
  afterAll(() => s3Backend.stop());

  it('is refused after the retention that condemned it died, and the next one removes it', async () => {
    for (const { use } of named) {
      const { store, write } = await s3Backend.scene();
      await fill(store);
      await write(
        recordPath(siteDomain, records.inUse),
        toJson({ rollingOut: {}, promoting: {}, removing: [versionAt(2), OLD], changes: 7 }),
      );
      const end = await ending(use.begin(store));
      expect(end).toBeInstanceOf(NoSuchVersion);
      await prune(store);
      await expectOneOfBoth(store, use, end);
    }
  });

  it.each(named)('stays or is refused wherever either process stops while the other runs: $name', async ({ use }) => {
    const begin = (store: BundleStore) => ending(use.begin(store));
    await eachStop(begin, prune, (store, end) => expectOneOfBoth(store, use, end));
    await eachStop(prune, begin, (store, _, end) => expectOneOfBoth(store, use, end));
  });

  it('stays while one promotion of it goes on after another has failed', async () => {
    const { promotion } = uses;
    const failAndPrune = async (store: BundleStore) => {
      const end = await ending(store.moveCurrent(siteDomain, OLD, 0, now));
      await prune(store);
      return end;
    };
    await eachStop(
      (store) => ending(promotion.begin(store)),
      failAndPrune,
      async (store, end) => expectOneOfBoth(store, promotion, end),
    );
  });
});

let stores = 0;
const atOnce = 4;

/** Stops the first process before each of its requests in turn, while the second runs from start to end. */
async function eachStop<First, Second>(
  first: (store: BundleStore) => Promise<First>,
  second: (store: BundleStore) => Promise<Second>,
  check: (store: BundleStore, first: First, second: Second) => Promise<void>,
): Promise<void> {
  const stopBehind = async (whole: number) => {
    stores += 1;
    const prefix = `condemned/${stores}`;
    const { endpoint, bucket } = s3Server();
    const workFolder = join(await tempFolder(), 'work');
    const settings = { bucket, prefix, publicUrl: 'http://x', workFolder };
    const store = await fill(await S3BundleStore.open({ ...settings, endpoint }));
    // The first request of a store reads its identity.
    const proxy = await pausingProxy(endpoint, whole + 1);
    const stopped = await S3BundleStore.open({ ...settings, endpoint: proxy.url });
    const running = first(stopped);
    const ended = await Promise.race([proxy.paused.then(() => false), running.then(() => true)]);
    const then = await second(store);
    proxy.resume();
    const end = await running;
    await proxy.stop();
    await check(store, end, then).catch((error: unknown) => {
      throw new Error(`stopped behind ${whole} requests`, { cause: error });
    });
    return ended;
  };
  for (let whole = 0, ended = false; !ended; whole += atOnce) {
    const some = Array.from({ length: atOnce }, (_, n) => stopBehind(whole + n));
    ended = (await Promise.all(some)).some((finished) => finished);
  }
}
