import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { plantedMarkers } from '../../sandbox/index.ts';
import { retryKey } from '../../src/budget/client.ts';
import { exportHandle, exportState, startExport } from '../../src/operations/exports.ts';
import { startSync, syncState } from '../../src/operations/syncs.ts';
import { bytesIn } from '../tools/file-bytes.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { startReceiver, type WebhookReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';
import { histories } from '../tools/temporal/histories.ts';

let scene: Scene;
let receiver: WebhookReceiver | null = null;
afterEach(async () => {
  await scene?.end();
  await receiver?.stop();
  receiver = null;
});

/** What a receiver answers is nobody else's business. */
const innerWords = 'inner-words-of-a-receiver';

/** What must never be found anywhere (X1). */
function planted(): string[] {
  const ofWebhooks = receiver === null ? [] : [receiver.token, webhookSecret, webhookSecret.slice(6), innerWords];
  return [scene.sandbox.apiKey, ...scene.sandbox.linkSecrets(), ...Object.values(plantedMarkers).flat(), ...ofWebhooks];
}

async function expectNothingPlanted(): Promise<void> {
  const found = `${await histories(scene)}\n${scene.logged()}`;
  expect(found.length).toBeGreaterThan(10_000);
  for (const secret of planted())
    expect(found.includes(secret), `${secret.slice(0, 12)}… stands in a history or log`).toBe(false);
}

describe('nothing secret or personal stands in histories, search attributes, memos, logs or errors (X1)', () => {
  it('when everything goes well, and when links expire, downloads are cut and pages are broken', async () => {
    scene = await setScene({
      sandbox: {
        jobSeconds: 1,
        entries: 1_000,
        padBytes: 3_000_000,
        rejects: 0.02,
      },
    });
    await scene.startWorker();
    const { client, taskQueue, org, project, domain } = scene;
    scene.sandbox.setFaults({
      errors: 2,
      cutBody: 1,
      resetsAfter: 1,
      storageRedirect: 'http://169.254.169.254/latest',
    });
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'LinkRefused' } } });
    scene.sandbox.setFaults({ storageRedirect: '' });
    const again = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    expect(await again.handle.result()).toMatchObject({ outcome: 'published' });
    const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    expect((await sync.result()).entries.seen).toBe(1_000);
    expect(scene.sandbox.linkSecrets().length).toBeGreaterThan(1);
    await expectNothingPlanted();
  });

  it.each([
    ['contacts: hash, comments: hash, hashKey: "hunter2-hunter2-hunter2-hunter2-"', 'hmac-sha256:'],
    ['contacts: drop, comments: drop, keepFields: [score]', '{"score":'],
  ])('nor in the files of the store with %s', async (privacy, stored) => {
    scene = await setScene({
      sandbox: { entries: 1_000, rejects: 0.05, drift: 0.2, oddText: 0.05 },
      privacy: `{ ${privacy} }`,
    });
    await scene.startWorker();
    const { client, taskQueue, org, project, folder } = scene;
    for (const pass of ['incremental', 'sweep'] as const) {
      const sync = await startSync(client, taskQueue, { org, project, pass });
      const { entries } = await sync.result();
      expect(entries).toMatchObject({ seen: 1_000, updated: 0, inserted: pass === 'sweep' ? 0 : expect.any(Number) });
      expect(entries.rejected).toBeGreaterThan(0);
    }
    await expectNothingPlanted();
    const bytes = bytesIn(join(folder, 'data'));
    expect(bytes).toContain(stored);
    expect(bytes).toContain('field names: id, path, comment');
    for (const secret of [...plantedMarkers, 'hunter2', 'reviewer":']) {
      expect(bytes.includes(secret), `${secret.slice(0, 12)}… stands in a file of the store`).toBe(false);
    }
  });

  it('when the key is refused and when a page cannot be read', async () => {
    scene = await setScene({ sandbox: { jobSeconds: 1, entries: 500 } });
    await scene.startWorker();
    const { client, taskQueue, org, project, domain } = scene;
    scene.sandbox.setFaults({ nullCursor: 2 });
    const broken = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    await expect(broken.result()).rejects.toMatchObject({ cause: { cause: { type: 'BadPage' } } });
    scene.sandbox.setFaults({ nullCursor: 0, unauthorized: true });
    const refused = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    await expect.poll(() => exportState(client, org, domain)).toMatchObject({ unauthorized: expect.any(Object) });
    await expect
      .poll(() => syncState(client, { org, project, pass: 'sweep' }))
      .toMatchObject({ phase: 'unauthorized' });
    scene.sandbox.setFaults({ unauthorized: false });
    await retryKey(client, org);
    await refused.result();
    await exportHandle(client, org, domain).result();
    await expectNothingPlanted();
  });

  it('when webhooks are told, refused, and not reached', async () => {
    receiver = await startReceiver();
    receiver.answers.push({ status: 404, body: innerWords }, { status: 302, headers: { location: `/${innerWords}` } });
    const down = `http://127.0.0.1:1/hooks/${receiver.token}`;
    scene = await setScene({
      sandbox: { entries: 300 },
      webhooks: `[{ url: "${receiver.url}", secret: ${webhookSecret} }, { name: down, url: "${down}", secret: ${webhookSecret} }]`,
    });
    await scene.startWorker();
    const { client, taskQueue, org, project } = scene;
    const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    await sync.result();
    await expect.poll(() => receiver?.received.length).toBe(3);
    await expect.poll(() => scene.logged().includes('the webhook down of')).toBe(true);
    const { received } = receiver;
    for (const { comment } of scene.sandbox.truth('prj_1') as Iterable<{ comment: string | null }>) {
      if (comment) expect(received.some(({ body }) => body.includes(comment))).toBe(false);
    }
    await expectNothingPlanted();
  });
});
