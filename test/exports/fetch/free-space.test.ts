import { expect, it } from 'vitest';
import { DownloadRoom } from '../../../src/exports/fetch/download.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const mib = 1024 ** 2;

it('a download needs room beside the earlier ones, and what they need shrinks as they go on', async () => {
  const folder = await tempFolder();
  const begin = (left: () => number) => DownloadRoom.begin(folder, async () => 200 * mib, left);
  let firstLeft = 90 * mib;
  const first = await begin(() => firstLeft);
  const second = await begin(() => 90 * mib);
  // 64 MiB stay free for everything else.
  await first.requireBesideOthers();
  await expect(second.requireBesideOthers()).rejects.toMatchObject({ name: 'NoRoom' });
  // One that is under way is not ended for the sake of the others.
  await second.requireForOwn();
  firstLeft = 40 * mib;
  await second.requireBesideOthers();
  firstLeft = 90 * mib;
  first.end();
  await second.requireBesideOthers();
  second.end();
});
