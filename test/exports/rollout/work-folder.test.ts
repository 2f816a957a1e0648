import { mkdir, readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { withWorkFolder } from '../../../src/exports/rollout/rollout-target.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

it('leaves nothing behind, and removes what killed processes left a week ago', async () => {
  const place = await tempFolder();
  vi.stubEnv('TMPDIR', place);
  onTestFinished(() => void vi.unstubAllEnvs());
  const weekAgo = new Date(Date.now() - 8 * 24 * 3_600_000);
  for (const name of ['docferry-site-old', 'docferry-git-old', 'docferry-preview-old', 'theirs', 'docferry-site-new']) {
    await mkdir(join(place, name, 'guide'), { recursive: true });
    if (name.endsWith('new')) continue;
    await utimes(join(place, name, 'guide'), weekAgo, weekAgo);
    await utimes(join(place, name), weekAgo, weekAgo);
  }
  const left = ['docferry-preview-old', 'docferry-site-new', 'theirs'];
  const used = await withWorkFolder('site', async (folder) => [folder, ...(await readdir(place))]);
  expect(used[0]).toContain(join(place, 'docferry-site-'));
  expect(used.slice(1).sort()).toEqual([...left, used[0]?.split('/').at(-1)].sort());
  await expect(withWorkFolder('git', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect((await readdir(place)).sort()).toEqual(left);
});
