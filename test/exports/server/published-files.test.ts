import { expect, it } from 'vitest';
import { PublishedFiles } from '../../../src/exports/server/published-files.ts';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { publish, siteDomain } from '../../tools/bundle/staged.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const someVersion = '20261121T040200Z-aaaaaaaaaaaa';

async function counted() {
  const store = await DirectoryBundleStore.open({ root: await tempFolder(), publicUrl: 'http://x' });
  await publish(store, someVersion, Buffer.from('0123456789'));
  const opened: string[] = [];
  const failures: Error[] = [];
  const files = new PublishedFiles({
    async open(domain, version, file) {
      opened.push(file);
      const failure = failures.pop();
      if (failure) throw failure;
      return store.open(domain, version, file);
    },
  });
  const ask = (version = someVersion) =>
    Promise.allSettled(Array.from({ length: 20 }, () => files.of(siteDomain, version, 'bundle.tar.gz')));
  const manifests = () => opened.filter((file) => file === 'manifest.json').length;
  return { files, failures, ask, manifests };
}

it('reads the manifest once for concurrent requests, and again once forgotten', async () => {
  const { files, ask, manifests } = await counted();
  const answers = await ask();
  expect(new Set(answers.map((answer) => answer.status === 'fulfilled' && answer.value?.bytes))).toEqual(new Set([10]));
  expect(manifests()).toBe(1);
  await ask();
  expect(manifests()).toBe(1);
  files.forget(siteDomain, someVersion);
  await ask();
  expect(manifests()).toBe(2);
});

it('shares failures and absence, and remembers neither', async () => {
  const { failures, ask, manifests } = await counted();
  failures.push(new Error('away'));
  expect(new Set((await ask()).map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(new Set((await ask()).map(({ status }) => status))).toEqual(new Set(['fulfilled']));
  expect(manifests()).toBe(2);
  for (const calls of [3, 4]) {
    await ask('20200101T000000Z-aaaaaaaaaaaa');
    expect(manifests()).toBe(calls);
  }
});
