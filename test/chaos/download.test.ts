import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';

/**
 * Links valid for 5 s, a slow download of 200 MB, resets every 20 MB, and the worker killed twice (E3): the published
 * bytes are the source's, and only bytes in flight when the worker died are fetched twice.
 */

const domain = 'docs.acme.example';
const mb = 1_000_000;
/** Bytes that the sandbox has sent and a killed worker never wrote: the socket buffers of both sides. */
const onItsWay = 8 * mb;
let folder: string;
let sandbox: Sandbox;
let ports: { port: number; ui: number; bundles: number };
const running: DocferryProcess[] = [];

afterEach(async () => {
  for (const process of running.splice(0)) await process.kill('SIGTERM');
  await sandbox?.stop();
  await rm(folder, { recursive: true, force: true });
});

function start(args: readonly string[]): DocferryProcess {
  const process = new DocferryProcess(args, { cwd: folder });
  running.push(process);
  return process;
}

async function up(): Promise<DocferryProcess> {
  const flags = ['--port', `${ports.port}`, '--ui-port', `${ports.ui}`, '--bundle-port', `${ports.bundles}`];
  const process = start(['up', ...flags]);
  await process.says('docferry: ready');
  return process;
}

/** The archive as the sandbox has it, fetched in one request. */
async function sourceDigest(jobId: string): Promise<string> {
  sandbox.setFaults({ storageResetEvery: 0, linkLifetimeMs: 300_000 });
  const address = `${sandbox.url}/v1/static-export/jobs/${jobId}/bundle`;
  const asked = await fetch(address, { method: 'POST', headers: { authorization: `Bearer ${sandbox.apiKey}` } });
  const { bundleUrl } = (await asked.json()) as { bundleUrl: string };
  const { body } = await fetch(bundleUrl);
  const hash = createHash('sha256');
  for await (const chunk of body ?? []) hash.update(chunk);
  return hash.digest('hex');
}

async function begin(connections: number): Promise<DocferryProcess> {
  folder = await mkdtemp(join(tmpdir(), 'docferry-download-'));
  sandbox = await startSandbox({
    jobSeconds: 0,
    padBytes: 200 * mb,
    storageRate: (16 * mb) / connections,
    faults: { linkLifetimeMs: 5_000, storageResetEvery: 20 * mb },
  });
  ports = { port: await findFreePort(), ui: await findFreePort(), bundles: await findFreePort() };
  await writeFile(
    join(folder, 'docferry.yaml'),
    `temporal: { address: "127.0.0.1:${ports.port}" }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
  - id: acme
    apiKey: "${sandbox.apiKey}"
    sites: [{ domain: ${domain}, bundle: { connections: ${connections} } }]
`,
  );
  // `up` is killed and leaves its server as an orphan: from now on a separate process is the worker.
  await (await up()).kill('SIGKILL');
  const worker = start(['worker']);
  await worker.says('worker: ready');
  return worker;
}

const downloads = () => sandbox.log().filter((entry) => entry.kind === 'storage');
const sent = () => downloads().reduce((sum, { bytes }) => sum + bytes, 0);

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

describe('a slow download with every disturbance at once', () => {
  it.each([1, 4])(
    'ends with the bytes of the source, nothing fetched twice, over %i connections',
    async (connections) => {
      let worker = await begin(connections);
      const exported = start(['export', 'start', domain, '--wait', '--json']);
      for (const at of [50 * mb, 120 * mb]) {
        await expect.poll(sent, { timeout: 120_000, interval: 20 }).toBeGreaterThanOrEqual(at);
        await worker.kill('SIGKILL');
        worker = start(['worker']);
      }
      expect(await exported.ended()).toBe(0);
      const { version, archive, linksRequested } = JSON.parse(exported.stdout);
      const file = join(folder, 'data/bundles', domain, 'versions', version, 'bundle.tar.gz');
      expect((await stat(file)).size).toBe(archive.bytes);
      expect(await digestOf(file)).toBe(archive.sha256);
      const twice = sent() - archive.bytes;
      process.stderr.write(
        `  ${connections} connections: ${archive.bytes} bytes, ${downloads().length} requests, ${linksRequested} links, ` +
          `${twice} bytes sent twice\n`,
      );
      expect(twice).toBeLessThanOrEqual(2 * onItsWay);
      expect(downloads().filter(({ status }) => status === 403)).toEqual([]);
      expect(linksRequested).toBeGreaterThan(2);
      expect(await sourceDigest(JSON.parse(exported.stdout).jobId)).toBe(archive.sha256);
      // The orphan of the first `up` is adopted and stopped with it.
      await (await up()).kill('SIGTERM');
    },
    300_000,
  );
});
