import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { flushTree } from '../../../src/exports/rollout/directory-place.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

it('flushes every file and folder once, and stops when aborted', async () => {
  const folder = await tempFolder();
  await mkdir(join(folder, 'a', 'b', 'empty'), { recursive: true });
  for (const file of ['1', 'a/2', 'a/b/3']) await writeFile(join(folder, file), file);
  let flushed = 0;
  const onProgress = () => {
    flushed += 1;
  };
  await flushTree(folder, { onProgress });
  expect(flushed).toBe(7);
  const controller = new AbortController();
  const reason = new Error('cancelled');
  controller.abort(reason);
  await expect(flushTree(folder, { signal: controller.signal, onProgress })).rejects.toBe(reason);
  expect(flushed).toBe(7);
  await expect(flushTree(join(folder, 'gone'))).rejects.toMatchObject({ code: 'ENOENT' });
});
