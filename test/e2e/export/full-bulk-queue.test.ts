import { afterEach, expect, it } from 'vitest';
import { exportState, startExport, startRollback } from '../../../src/operations/exports.ts';
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

it('a rollback does not wait for forty exports that take every slot: at most three times as long as alone', async () => {
  const slow = Array.from({ length: 40 }, (_, n) => `slow-${n}.example`);
  scene = await setScene({
    worker: '{ downloads: 2, verifications: 1 }',
    sites: slow,
    sandbox: {
      organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example', ...slow] }],
      jobSeconds: 1,
      padBytes: 60_000,
      storageRate: 4_000,
    },
  });
  await scene.startWorker();
  const { client, taskQueue, org, domain } = scene;
  const exported = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
  const version = `${(await exported.handle.result()).version}`;
  /** The shortest of a few, in milliseconds: the machine does other things beside. */
  const rollBack = async () => {
    const times: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const since = performance.now();
      const input = { org, domain, version, reason: null };
      const { handle } = await startRollback(client, taskQueue, input, {
        onRunning: 'refuse',
        beforeCancel: async () => {},
      });
      expect((await handle.result()).outcome).toBe('rolled-back');
      times.push(performance.now() - since);
    }
    return Math.min(...times);
  };
  const alone = await rollBack();
  const begun = await Promise.all(
    slow.map(
      async (site) => (await startExport(client, taskQueue, { org, domain: site, parameters: {} }, 'join')).handle,
    ),
  );
  const waiting = async () => {
    const states = await Promise.all(slow.map((site) => exportState(client, org, site)));
    return states.filter(({ phase }) => phase === 'fetching').length;
  };
  await expect.poll(waiting).toBeGreaterThanOrEqual(slow.length - 2);
  const behind = await rollBack();
  process.stderr.write(`a rollback: ${Math.round(alone)} ms alone, ${Math.round(behind)} ms behind 40 exports\n`);
  expect(await waiting()).toBeGreaterThan(slow.length / 2);
  expect(behind).toBeLessThanOrEqual(3 * alone);
  await Promise.all(begun.map((handle) => handle.terminate()));
});
