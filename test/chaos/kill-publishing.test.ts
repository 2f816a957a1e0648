import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BundlePlaceConfig } from '../../src/config/config.ts';
import { leftInBucket } from '../tools/bundle/left-in-bucket.ts';
import { s3Backend, s3Server } from '../tools/bundle/store-backends.ts';
import { publishOnce } from '../tools/chaos/publishing.ts';
import { breakingProxy } from '../tools/proxies/breaking-proxy.ts';
import { changesOf, PublishingScene } from './publishing-scene.ts';

/**
 * A publishing process is killed with -9 between every two of its steps (E5, E6): before each change in the file system,
 * and before and after each request to a bucket. The steps are counted, not listed: one more each time, until the process
 * finishes. Another process reads all the time.
 */

const publicUrl = 'http://localhost:8090';

async function killAtEveryChange(scene: PublishingScene): Promise<void> {
  await publishOnce(await scene.next());
  const watcher = await scene.watching();
  let changes: number | null = null;
  for (let killAt = 1; changes === null; killAt += 1) {
    const publication = await scene.next();
    const child = scene.publishing(publication, { killAt });
    await child.ended();
    changes = changesOf(child);
    if (changes === null) expect([killAt, child.child.signalCode, child.output]).toEqual([killAt, 'SIGKILL', '']);
    await scene.expectWhole();
    await scene.expectRepeated(publication);
    await scene.expectWhole();
  }
  const seen = await watcher.seen();
  expect(seen.problems).toEqual([]);
  process.stderr.write(
    `  killed before each of ${changes} changes; meanwhile ${seen.looks} looks at ${seen.versions} versions, ` +
      `${seen.visits} visits of the folder\n`,
  );
}

describe('kill -9 between every two steps of publishing (P1)', () => {
  it('to a folder, and to a folder target', async () => {
    await using scene = await PublishingScene.make((folder) => ({
      kind: 'directory',
      directory: join(folder, 'bundles'),
      publicUrl,
      signing: null,
    }));
    await killAtEveryChange(scene);
  }, 900_000);

  describe.skipIf(!s3Backend.available)('to a bucket', () => {
    beforeAll(() => s3Backend.start(), 60_000);
    afterAll(() => s3Backend.stop(), 60_000);

    const bucket =
      (prefix: string, endpoint = s3Server().endpoint) =>
      (folder: string): BundlePlaceConfig => ({
        kind: 's3',
        bucket: s3Server().bucket,
        prefix,
        endpoint,
        publicUrl,
        signing: null,
        workFolder: join(folder, 'work'),
      });

    it('before each change of the file system', async () => {
      await using scene = await PublishingScene.make(bucket('chaos/files'));
      await killAtEveryChange(scene);
    }, 900_000);

    it.each(['not sent', 'answer lost'] as const)(
      'at each request: %s',
      async (next) => {
        const prefix = `chaos/${next.replace(' ', '-')}`;
        await using scene = await PublishingScene.make(bucket(prefix));
        await publishOnce(await scene.next());
        const watcher = await scene.watching();
        let requests: number | null = null;
        for (let whole = 0; requests === null; whole += 1) {
          // Large enough for a multipart upload.
          const publication = await scene.next(whole % 4 === 0 ? 9_000_000 : 0);
          const proxy = await breakingProxy(s3Server().endpoint, whole, next, () => child.child.kill('SIGKILL'));
          const child = scene.publishing({ ...publication, store: bucket(prefix, proxy.url)(scene.folder) });
          await child.ended();
          if (child.child.signalCode === null) requests = proxy.requests();
          await proxy.stop();
          await scene.expectWhole();
          await scene.expectRepeated(publication);
          await scene.expectWhole();
          expect(await leftInBucket(s3Server(), prefix)).toEqual([]);
        }
        const seen = await watcher.seen();
        expect(seen.problems).toEqual([]);
        process.stderr.write(
          `  ${next}: killed at each of ${requests} requests; meanwhile ${seen.looks} looks at ${seen.versions} versions\n`,
        );
      },
      900_000,
    );
  });
});
