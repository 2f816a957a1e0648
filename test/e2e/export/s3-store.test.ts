import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ExportResult } from '../../../src/exports/rules/site-export.ts';
import { startBundleServer } from '../../../src/exports/server/bundle-server.ts';
import { openBundleStore } from '../../../src/exports/store/open-bundle-store.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import { startExport } from '../../../src/operations/exports.ts';
import { createLog } from '../../../src/temporal/log.ts';
import { startWorker } from '../../../src/worker.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';
import { docferryJson } from '../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../tools/scene.ts';
import { awsVariables, type S3Server, s3ServerProgram, startS3Server } from '../../tools/servers/s3-server.ts';
import { workflowBundle } from '../../tools/temporal/temporal.ts';

const program = await s3ServerProgram();
let s3: S3Server;
let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

async function exportSite(parameters = {}): Promise<ExportResult> {
  const { client, taskQueue, org, domain } = scene;
  return (await startExport(client, taskQueue, { org, domain, parameters }, 'join')).handle.result();
}

async function keys(): Promise<string[]> {
  const { Contents = [] } = await s3.client.send(new ListObjectsV2Command({ Bucket: s3.bucket }));
  // Without the marks of what is in service, which are listed for `docferry status`.
  return Contents.map(({ Key = '' }) => Key)
    .filter((key) => !key.includes('/.in-service/'))
    .sort();
}

/** The command line on a machine with the bucket's credentials. */
const docferry = (...args: string[]) =>
  docferryJson([...args, '--config', scene.configFile], {
    // The AWS client reads the variables of its process.
    ownProcess: true,
    env: awsVariables(s3),
  });

describe.skipIf(program === null)('an export with a bucket as store', () => {
  beforeAll(async () => {
    s3 = await startS3Server(program ?? '');
  });
  afterAll(() => s3.stop());

  it('is published by whichever worker, rolled out, listed, served and verified', async () => {
    const port = await findFreePort();
    const publicUrl = `http://127.0.0.1:${port}`;
    const place = `bucket: ${s3.bucket}, prefix: docs, endpoint: "${s3.endpoint}", workFolder: ./work`;
    const bundles = `{ s3: { ${place} }, publicUrl: "${publicUrl}" }`;
    scene = await setScene({ sandbox: { jobSeconds: 1, pages: 6 }, bundles });
    await scene.startWorker();
    const elsewhere = await otherMachine();
    const server = await startBundleServer({ store: await openBundleStore(scene.config.store.bundles), port });
    try {
      const first = await exportSite();
      expect(first).toMatchObject({ outcome: 'published', rollouts: [{ outcome: 'rolled-out' }] });
      const { version, url } = first;
      expect(await readlink(join(scene.folder, 'site', 'current'))).toBe(`releases/${version}`);
      expect(await readFile(join(scene.folder, 'site', 'current', 'index.html'), 'utf8')).toContain('<html');
      const folder = `docs/${scene.domain}`;
      expect(await keys()).toEqual([
        'docs/.store.json',
        `${folder}/current.json`,
        `${folder}/in-use.json`,
        `${folder}/observed.json`,
        `${folder}/rollouts.json`,
        `${folder}/versions/${version}/bundle.tar.gz`,
        `${folder}/versions/${version}/manifest.json`,
      ]);
      expect(url).toBe(`${publicUrl}/${scene.domain}/versions/${version}/bundle.tar.gz`);
      const served = await fetch(`${url}`);
      expect(sha256(Buffer.from(await served.arrayBuffer()))).toBe(first.archive?.sha256);

      const second = await exportSite();
      expect(second).toMatchObject({ outcome: 'unchanged', version, url, rollouts: [{ outcome: 'already-current' }] });
      scene.sandbox.publishRevision(scene.domain);
      const third = await exportSite();
      expect(third.outcome).toBe('published');
      const listed = await docferry('export', 'versions', scene.domain);
      expect(listed).toMatchObject({
        exitCode: 0,
        document: { current: third.version, versions: [{ version: third.version }, { version }] },
      });
      expect(await docferry('store', 'verify')).toMatchObject({
        exitCode: 0,
        document: { ok: true, store: `s3://${s3.bucket}/docs`, checked: { versions: 2 } },
      });
      const Key = `${folder}/versions/${version}/bundle.tar.gz`;
      await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key, Body: 'something else entirely' }));
      const back = await docferry('export', 'deploy-local', scene.domain, `${version}`);
      expect(back).toMatchObject({ exitCode: 1, document: { error: { code: 'VersionDamaged' } } });
      const spoilt = await docferry('store', 'verify', scene.domain);
      expect(spoilt.exitCode).toBe(1);
      expect(spoilt.stderr).toContain(`${scene.domain} ${third.version} good`);
      expect(scene.logged()).not.toContain(s3.secretAccessKey);
    } finally {
      await elsewhere.stop();
      await server.stop();
    }
  });

  it('ends at once, with the fix, when the bucket is not there', async () => {
    const bundles = `{ s3: { bucket: no-such-bucket, endpoint: "${s3.endpoint}" }, publicUrl: "http://127.0.0.1:1" }`;
    scene = await setScene({ bundles });
    await expect(scene.startWorker()).rejects.toMatchObject({ name: 'StoreRefused' });
    const listed = await docferry('export', 'versions', scene.domain);
    expect(listed).toMatchObject({
      exitCode: 1,
      document: {
        error: {
          code: 'StoreUnavailable',
          message: expect.stringContaining('the bucket no-such-bucket does not exist'),
          hint: expect.stringContaining('create it'),
        },
      },
    });
  });
});

/** A second worker of the scene that has the bucket in common with the first, but no files. */
async function otherMachine() {
  const { bundles } = scene.config.store;
  if (bundles.kind !== 's3') throw new Error('the scene has no bucket');
  const config = {
    ...scene.config,
    store: { ...scene.config.store, bundles: { ...bundles, workFolder: join(scene.folder, 'other-work') } },
  };
  return startWorker(config, { log: createLog({ write: () => {} }, 'error'), workflowBundle: workflowBundle() });
}
