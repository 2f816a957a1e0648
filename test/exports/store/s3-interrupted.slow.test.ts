import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { versionName } from '../../../src/exports/rules/site-export.ts';
import { StoreUnreachable } from '../../../src/exports/store/bundle-store.ts';
import { S3BundleStore } from '../../../src/exports/store/s3-store.ts';
import { auditStore } from '../../../src/exports/store/verify-store.ts';
import { filesOf, publish, sealOfStaged, siteDomain, stage, stagedManifest } from '../../tools/bundle/staged.ts';
import { s3Backend, s3Server } from '../../tools/bundle/store-backends.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { breakingProxy } from '../../tools/proxies/breaking-proxy.ts';

const now = new Date('2026-11-23T00:00:00Z');
const nameOf = (day: number, content: string) =>
  versionName(Date.UTC(2026, 10, day), stagedManifest(content, filesOf(content)).contentDigest);
const atOnce = 8;
const old = nameOf(21, 'old');
const newer = nameOf(22, 'new');

describe.skipIf(!s3Backend.available)('an export to a bucket that ends at any request (P1)', () => {
  beforeAll(() => s3Backend.start());
  afterAll(() => s3Backend.stop());

  it.each(['not sent', 'answer lost'] as const)(
    'readers see the old or the new version whole, and a repetition ends well: request %s',
    async (next) => {
      for (let whole = 0, ended = false; !ended; whole += atOnce) {
        const some = Array.from({ length: atOnce }, (_, n) => interrupted(whole + n, next));
        ended = (await Promise.all(some)).some((finished) => finished);
      }
    },
  );

  it.each([
    ['a hold', 'not sent'],
    ['a hold', 'answer lost'],
    ['a release', 'not sent'],
    ['a release', 'answer lost'],
  ] as const)(
    'a site that is held is listed as held, and no other, wherever %s ends: request %s',
    async (what, next) => {
      for (let whole = 0, ended = false; !ended; whole += atOnce) {
        const some = Array.from({ length: atOnce }, (_, n) => interruptedHold(what, whole + n, next));
        ended = (await Promise.all(some)).some((finished) => finished);
      }
    },
  );
});

/** An export whose connection ends after this many requests; true when it needs no more. */
async function interrupted(whole: number, next: 'not sent' | 'answer lost'): Promise<boolean> {
  const { endpoint, bucket } = s3Server();
  const prefix = `interrupted/${next.replace(' ', '-')}-${whole}`;
  const settings = { bucket, prefix, endpoint, publicUrl: 'http://x', workFolder: join(await tempFolder(), 'work') };
  const reader = await S3BundleStore.open(settings);
  await publish(reader, old, 'old');
  await reader.moveCurrent(siteDomain, old, 0, now);

  const proxy = await breakingProxy(endpoint, whole, next);
  const failure = await exporting({ ...settings, endpoint: proxy.url }).catch((error: unknown) => error);
  const finished = proxy.requests() <= whole;
  await proxy.stop();
  expect([whole, failure]).toEqual([whole, finished ? undefined : expect.any(StoreUnreachable)]);

  const current = await reader.current(siteDomain);
  const listed = (await reader.versions(siteDomain)).map(({ version }) => version);
  expect(listed).toContain(current?.version);
  expect([old, newer]).toContain(current?.version);
  expect(await reader.withArchive(siteDomain, current?.version ?? '', async () => 'whole')).toBe('whole');

  await exporting(settings);
  const [audit] = await auditStore(reader, [siteDomain]);
  expect(audit).toMatchObject({ current: newer, reasons: [], versions: [{ state: 'good' }, { state: 'good' }] });
  expect(await reader.current(siteDomain)).toMatchObject({ version: newer, epoch: 2 });
  return finished;
}

/** A hold or a release whose connection ends after this many requests; true when it needs no more. */
async function interruptedHold(
  what: 'a hold' | 'a release',
  whole: number,
  next: 'not sent' | 'answer lost',
): Promise<boolean> {
  const { endpoint, bucket } = s3Server();
  const prefix = `${what} ${next} ${whole}`.replaceAll(' ', '-');
  const settings = { bucket, prefix, endpoint, publicUrl: 'http://x', workFolder: join(await tempFolder(), 'work') };
  const reader = await S3BundleStore.open(settings);
  await publish(reader, old, 'old');
  await reader.moveCurrent(siteDomain, old, 0, now);
  const request = { version: null, reason: null, at: now };
  if (what === 'a release') await reader.holds.place(siteDomain, request);

  const proxy = await breakingProxy(endpoint, whole, next);
  const change = async () => {
    const { holds } = await S3BundleStore.open({ ...settings, endpoint: proxy.url });
    await (what === 'a hold' ? holds.place(siteDomain, request) : holds.release(siteDomain));
  };
  await change().catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnreachable));
  const finished = proxy.requests() <= whole;
  await proxy.stop();

  const hold = await reader.holds.of(siteDomain);
  const listed = (await reader.inService([siteDomain])).get(siteDomain);
  expect([whole, listed]).toEqual([whole, { current: old, held: hold?.version ?? null }]);
  return finished;
}

/** The steps of an export in the store, from a verified download to the pointer. */
async function exporting(settings: Parameters<typeof S3BundleStore.open>[0]): Promise<void> {
  const store = await S3BundleStore.open(settings);
  await stage(store, 'run-1', 'new');
  await store.publish('run-1', newer, sealOfStaged('new'));
  await store.moveCurrent(siteDomain, newer, 1, now);
  await store.discardStaged('run-1');
}
