import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Backend, backends, s3Server } from '../tools/bundle/store-backends.ts';
import { publishOnce } from '../tools/chaos/publishing.ts';
import { PublishingScene } from './publishing-scene.ts';

/**
 * Two processes publish different versions of one site at once, repeatedly, while a third reads all the time (E5; P3 of
 * bad-input.md): the pointer never goes backwards, every version is complete, the folder target ends on the version
 * that won.
 */

const mostRounds = 25;

describe.each(backends)('two publishers at once: $kind', (backend) => {
  beforeAll(() => backend.start(), 60_000);
  afterAll(() => backend.stop());

  it.skipIf(!backend.available)(
    'never take the pointer backwards, nor mix their versions',
    async () => {
      await using scene = await sceneIn(backend);
      await publishOnce(await scene.next());
      const watcher = await scene.watching();
      const [one, other] = [await scene.next(200_000), await scene.next(200_000)];
      // The same seconds for both, so that neither always has the newer version.
      const publishers = [one, { ...other, at: one.at }].map((each) => scene.publishing(each, { rounds: mostRounds }));
      const published: string[] = [];
      for (const publisher of publishers) {
        expect(await publisher.ended(), publisher.output).toBe(0);
        const rounds: (string | null)[] = JSON.parse(publisher.stdout);
        expect(rounds).toHaveLength(mostRounds);
        published.push(...rounds.filter((version) => version !== null));
      }
      const seen = await watcher.seen();
      expect(seen.problems).toEqual([]);
      await scene.expectWhole();
      const current = await scene.store.current('docs.acme.example');
      expect(published).toContain(current?.version);
      await scene.expectNothingLeft();
      process.stderr.write(
        `  ${backend.kind}: ${published.length} of ${2 * mostRounds} publications ended in service, pointer at epoch ${current?.epoch}; ` +
          `${seen.looks} looks at ${seen.versions} versions, ${seen.visits} visits of the folder\n`,
      );
    },
    600_000,
  );
});

function sceneIn({ kind }: Backend): Promise<PublishingScene> {
  const publicUrl = 'http://localhost:8090';
  return PublishingScene.make((folder) => {
    if (kind === 'directory') return { kind, directory: join(folder, 'bundles'), publicUrl, signing: null };
    const { bucket, endpoint } = s3Server();
    return { kind, bucket, endpoint, prefix: 'chaos/two', publicUrl, signing: null, workFolder: join(folder, 'work') };
  });
}
