import { access, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { exportState, startExport } from '../../../src/operations/exports.ts';
import { docferry, docferryJson } from '../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../tools/scene.ts';
import { startReceiver, webhookSecret } from '../../tools/servers/webhook-receiver.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const json = (...args: string[]) => docferryJson([...args, '--config', scene.configFile]);
const link = () => readlink(join(scene.folder, 'site', 'current')).catch(() => null);

/** Starts an export without waiting for it; returns the version that comes to wait. */
async function startAndAwait(): Promise<string> {
  const { client, taskQueue, org, domain } = scene;
  await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
  const state = () => exportState(client, org, domain);
  await expect.poll(state, { interval: 500 }).toMatchObject({ phase: 'awaiting-approval' });
  return `${(await state()).approval?.version}`;
}

describe('what people do with a version, by the command line', () => {
  it('approve, reject, hold, release and roll back', async () => {
    scene = await setScene({ sandbox: { jobSeconds: 0.2, pages: 5 }, approvalTimeout: '1h' });
    await scene.startWorker();
    const { domain, sandbox } = scene;
    const versions = async () => (await json('export', 'versions', domain)).document;

    // Nothing is held, waits or runs: each says so.
    expect(await json('export', 'approve', domain)).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NotRunning' } },
    });
    expect((await json('export', 'watch', domain)).exitCode).toBe(4);
    expect(await json('export', 'hold', domain)).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NoSuchVersion' } },
    });
    expect((await json('export', 'release', domain)).document).toMatchObject({ error: { code: 'NotHeld' } });

    // The first version waits: stored under its address, in service nowhere.
    const first = await startAndAwait();
    expect(await versions()).toMatchObject({ current: null, versions: [{ version: first }] });
    expect(await link()).toBeNull();
    expect(await json('export', 'status', domain)).toMatchObject({
      exitCode: 0,
      document: { state: { phase: 'awaiting-approval', approval: { version: first, changes: { against: null } } } },
    });
    expect((await json('export', 'diff', domain)).document).toMatchObject({ from: null, to: { version: first } });
    expect((await json('export', 'versions', domain)).document).toMatchObject({ current: null, waiting: first });
    const shown = await docferry(['export', 'status', domain, '--config', scene.configFile]);
    expect(shown.stdout).toContain(`docferry export approve ${domain} ${first}`);
    const watched = docferry(['export', 'watch', domain, '--config', scene.configFile]);
    expect((await json('export', 'approve', domain, '20200101T000000Z-000000000000')).document).toMatchObject({
      error: { code: 'InvalidInput', message: expect.stringContaining(`${first} waits`) },
    });
    expect(await json('export', 'approve', domain, first)).toMatchObject({
      exitCode: 0,
      document: { domain, version: first, decision: 'approved' },
    });
    const seen = await watched;
    expect(seen.exitCode).toBe(0);
    expect(seen.stdout).toContain('published a new version');
    expect(seen.stderr).toContain(`docferry export approve ${domain}`);
    expect(await versions()).toMatchObject({ current: first });
    expect(await link()).toBe(`releases/${first}`);

    // The second is rejected: gone, and what is in service stays.
    sandbox.publishRevision(domain);
    const second = await startAndAwait();
    expect((await json('export', 'diff', domain)).document).toMatchObject({
      from: { version: first },
      to: { version: second },
      equal: false,
    });
    const rejection = docferryJson(['export', 'watch', domain, '--config', scene.configFile]);
    expect((await json('export', 'reject', domain, '--reason', ' ')).exitCode).toBe(2);
    expect(await json('export', 'reject', domain, '--reason', 'prices are wrong')).toMatchObject({
      exitCode: 0,
      document: { version: second, decision: 'rejected', reason: 'prices are wrong' },
    });
    expect(await rejection).toMatchObject({
      exitCode: 1,
      document: { outcome: 'rejected', version: null, reasons: [{ detail: 'prices are wrong' }] },
    });
    expect(await versions()).toMatchObject({ current: first, versions: [{ version: first }] });
    await expect(access(join(scene.folder, 'data/bundles', domain, 'versions', second))).rejects.toThrow();

    // Approved after all; then a hold, and back to the first, with the service down.
    const third = await startAndAwait();
    await json('export', 'approve', domain);
    await expect.poll(link, { interval: 500 }).toBe(`releases/${third}`);
    expect(await json('export', 'hold', domain, '--reason', 'release day')).toMatchObject({
      exitCode: 0,
      document: { held: third, hold: { reason: 'release day' } },
    });
    expect(await json('export', 'status', domain)).toMatchObject({ document: { hold: { version: third } } });
    const status = await docferry(['export', 'status', domain, '--config', scene.configFile]);
    expect(status.stdout).toMatch(new RegExp(`held at ${third} since .* UTC: release day`));
    await sandbox.stop();
    expect(await json('export', 'rollback', domain, first, '--wait')).toMatchObject({
      exitCode: 0,
      document: { outcome: 'rolled-back', version: first, previous: third, held: first },
    });
    expect(await link()).toBe(`releases/${first}`);
    const text = (await docferry(['export', 'versions', domain, '--config', scene.configFile])).stdout;
    expect(text).toContain(`held at ${first}`);

    // What cannot be rolled out again touches nothing.
    expect(await json('export', 'rollback', domain, second, '--wait')).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NoSuchVersion' } },
    });
    const archive = join(scene.folder, 'data/bundles', domain, 'versions', third, 'bundle.tar.gz');
    const bytes = await readFile(archive);
    await writeFile(archive, bytes.fill(0xff, bytes.length >> 1, (bytes.length >> 1) + 8));
    expect(await json('export', 'rollback', domain, third, '--wait')).toMatchObject({
      exitCode: 1,
      document: { error: { code: 'VersionDamaged' } },
    });
    expect(await versions()).toMatchObject({ current: first, held: first });
    expect(await json('export', 'release', domain)).toMatchObject({ exitCode: 0, document: { held: null } });
    expect(await versions()).toMatchObject({ current: first, held: null });
    const { runs } = (await json('export', 'status', domain)).document as { runs: { outcome: string }[] };
    expect(runs.map(({ outcome }) => outcome)).toEqual(['failed', 'rolled-back', 'published', 'rejected', 'published']);
  });
});

describe('a rule that asks (E8)', () => {
  it('has the export wait, says why everywhere, and leaves the rest to a person', async () => {
    const bundle = 'bundle: { rules: { pages-removed: { level: ask, above: 10% }, size-changed: off } }';
    const receiver = await startReceiver();
    scene = await setScene({
      sandbox: { jobSeconds: 0.2, pages: 5 },
      schedule: `{ every: 1d }\n        ${bundle}`,
      webhooks: `[{ name: ops, url: "${receiver.url}", secret: ${webhookSecret} }]`,
    });
    await scene.startWorker();
    const { domain } = scene;
    const first = await json('export', 'start', domain, '--wait');
    expect(first).toMatchObject({ exitCode: 0, document: { outcome: 'published' } });
    const { version } = first.document as { version: string };
    // The index page and 404.html remain.
    const limited = ['--path', '/', '--promote'];
    expect((await json('export', 'start', domain, ...limited)).exitCode).toBe(0);
    const status = async () => (await json('export', 'status', domain)).document;
    const asks = [{ rule: 'pages-removed', detail: `4 of 6 pages (67 %) of ${version} are gone` }];
    await expect.poll(status, { interval: 500 }).toMatchObject({ state: { approval: { asks } } });
    const text = await docferry(['export', 'status', domain, '--config', scene.configFile]);
    expect(text.stdout).toContain(`pages-removed: ${asks[0]?.detail}`);
    await expect
      .poll(() => receiver.received.map(({ body }) => String(body)))
      .toContainEqual(expect.stringContaining('pages-removed: 4 of 6 pages'));
    expect((await json('export', 'versions', domain)).document).toMatchObject({ current: version });
    expect(await link()).toBe(`releases/${version}`);
    expect(await json('export', 'reject', domain, '--reason', 'half a site')).toMatchObject({ exitCode: 0 });
    await expect.poll(status, { interval: 500 }).toMatchObject({ state: null, runs: [{ outcome: 'rejected' }, {}] });
    expect(await link()).toBe(`releases/${version}`);
    await receiver.stop();
  });
});
