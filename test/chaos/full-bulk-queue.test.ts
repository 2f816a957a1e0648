import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { exportState, startExport, startRollback } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { searchAttributes } from '../../src/rules/workflow-ids.ts';
import { ordersByPriority } from '../../src/temporal/namespace.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { devServerBinary } from '../tools/temporal/temporal.ts';

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

/** A server of one's own that hands out tasks as they come, as one does that lacks the settings for priorities. */
async function serverWithoutPriorities(): Promise<{ address: string; namespace: string }> {
  const folder = await tempFolder();
  const binary = join(folder, 'temporal');
  const withoutThem = `for one do shift; case $one in matching.*) set -- "$@" "\${one%=*}=false";; *) set -- "$@" "$one";; esac; done`;
  await writeFile(binary, `#!/bin/sh\n${withoutThem}\nexec '${devServerBinary()}' "$@"\n`, { mode: 0o755 });
  const server = await startDevServer({
    binary,
    port: await findFreePort(),
    searchAttributes: Object.values(searchAttributes),
    logFile: join(folder, 'server.log'),
  });
  onTestFinished(() => server.stop());
  return server;
}

it.each([
  ['in order of priority', true],
  ['as they come', false],
])(
  'a rollback does not wait for forty exports that take every slot, where Temporal hands out tasks %s',
  async (_, ordered) => {
    const slow = Array.from({ length: 40 }, (_, n) => `slow-${n}.example`);
    scene = await setScene({
      ...(!ordered && { server: await serverWithoutPriorities() }),
      worker: '{ downloads: 2, verifications: 1 }',
      sites: slow,
      sandbox: {
        organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example', ...slow] }],
        jobSeconds: 1,
        padBytes: 60_000,
        storageRate: 1_500,
      },
    });
    await scene.startWorker();
    const { client, taskQueue, org, domain, sandbox } = scene;
    expect(await ordersByPriority(client, taskQueue)).toBe(ordered);
    const begin = async (site: string) =>
      (await startExport(client, taskQueue, { org, domain: site, parameters: {} }, 'join')).handle;
    const versions: string[] = [];
    for (const _ of ['first', 'second']) {
      versions.push(`${(await (await begin(domain)).result()).version}`);
      sandbox.publishRevision(domain);
    }
    /** The times of some rollbacks, to and fro, in milliseconds; sorted. */
    const rollBack = async () => {
      const times: number[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const since = performance.now();
        const input = { org, domain, version: `${versions[turn % 2]}`, reason: null };
        const how = { onRunning: 'refuse', beforeCancel: async () => {} } as const;
        const { handle } = await startRollback(client, taskQueue, input, how);
        expect((await handle.result()).outcome).toBe('rolled-back');
        times.push(performance.now() - since);
      }
      return times.sort((a, b) => a - b);
    };
    const alone = await rollBack();
    const begun = await Promise.all(slow.map(begin));
    const waiting = async () => {
      const states = await Promise.all(slow.map((site) => exportState(client, org, site)));
      return states.filter(({ phase }) => phase === 'fetching').length;
    };
    await expect.poll(waiting).toBeGreaterThanOrEqual(slow.length - 8);
    const behind = await rollBack();
    expect(await waiting()).toBeGreaterThan(slow.length / 2);
    const [median, shown] = [(times: number[]) => times[1] ?? 0, (times: number[]) => times.map(Math.round).join(' ')];
    const ratio = median(behind) / median(alone);
    process.stderr.write(
      `rollbacks alone ${shown(alone)} ms, behind 40 exports ${shown(behind)} ms: ${ratio.toFixed(2)} ×\n`,
    );
    expect(ratio).toBeLessThanOrEqual(3);
    await Promise.all(begun.map((handle) => handle.terminate()));
  },
);
