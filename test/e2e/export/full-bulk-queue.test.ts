import { afterEach, expect, it } from 'vitest';
import { exportState, startExport } from '../../../src/operations/exports.ts';
import { startSync } from '../../../src/operations/syncs.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

it('downloads that take every slot for minutes delay no start, poll or sync', async () => {
  const slow = ['slow-1.example', 'slow-2.example', 'slow-3.example'];
  const archive = { padBytes: 400_000, storageRate: 4_000 };
  scene = await setScene({
    worker: '{ downloads: 2 }',
    sites: slow,
    sandbox: {
      organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example', ...slow] }],
      entries: 50,
      jobSeconds: 1,
      ...archive,
    },
  });
  await scene.startWorker();
  const { client, taskQueue, org, project, domain, sandbox } = scene;
  const begin = async (site: string) =>
    (await startExport(client, taskQueue, { org, domain: site, parameters: {} }, 'join')).handle;
  const downloads = () => sandbox.log().filter(({ kind }) => kind === 'storage').length;
  const begun = await Promise.all(slow.map(begin));
  await expect.poll(downloads).toBe(2);

  const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
  expect((await sync.result()).entries.seen).toBe(50);
  begun.push(await begin(domain));
  await expect.poll(async () => (await exportState(client, org, domain)).phase).toBe('fetching');
  // All that happened beside the first two, and the others wait for their slots.
  expect(downloads()).toBe(2);
  for (const handle of begun) await handle.cancel();
  for (const handle of begun) await expect(handle.result()).rejects.toThrow();
});
