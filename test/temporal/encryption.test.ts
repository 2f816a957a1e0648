import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import fc from 'fast-check';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { codecServer } from '../../src/cli/commands/codec-server.ts';
import { exportState, startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { connectClient, retriesIn } from '../../src/temporal/connection.ts';
import { codecOf, EncryptionKeyMissing, KeyRing, keyIdOf, keysIn } from '../../src/temporal/encryption.ts';
import { replayNamespace } from '../../src/temporal/replay.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { workflowBundle } from '../tools/temporal/temporal.ts';

const key = () => randomBytes(32);
const text = (payload: Payload | undefined) => Buffer.from(payload?.data ?? []).toString();
const payloadOf = (value: unknown): Payload => {
  const payload = defaultPayloadConverter.toPayload(value);
  if (payload === undefined) throw new Error('no payload');
  return payload;
};

describe('a ring of keys', () => {
  it('gives back every payload, whichever of its keys has written it', async () => {
    const [k1, k2] = [
      { id: 'k1', key: key() },
      { id: 'k2', key: key() },
    ];
    const [old, next] = [new KeyRing([k1]), new KeyRing([k2, k1])];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), fc.boolean(), async (values, rotated) => {
        const payloads = values.map(payloadOf);
        const encrypted = await (rotated ? next : old).encode(payloads);
        expect(encrypted.map(keyIdOf)).toEqual(values.map(() => (rotated ? 'k2' : 'k1')));
        const decoded = await next.decode(encrypted);
        expect(decoded.map((payload) => defaultPayloadConverter.fromPayload(payload))).toEqual(
          payloads.map((payload) => defaultPayloadConverter.fromPayload(payload)),
        );
      }),
    );
  });

  it('names the key that it lacks, also when it has none', async () => {
    const encrypted = await new KeyRing([{ id: 'k1', key: key() }]).encode([payloadOf('words')]);
    for (const ring of [new KeyRing([{ id: 'k2', key: key() }]), new KeyRing([])]) {
      await expect(ring.decode(encrypted)).rejects.toThrow(new EncryptionKeyMissing('k1'));
    }
  });

  it('leaves clear text and what is damaged as they are', async () => {
    const ring = new KeyRing([{ id: 'k1', key: key() }]);
    const clear = payloadOf('from the Temporal UI');
    expect(await ring.decode([clear])).toEqual([clear]);
    const [encrypted = clear] = await ring.encode([clear]);
    const bytes = Buffer.from(encrypted.data ?? []);
    for (const data of [bytes.subarray(0, 5), Buffer.alloc(0), Buffer.from(bytes.map((byte) => byte ^ 1))]) {
      const damaged = { ...encrypted, data };
      expect(await ring.decode([damaged])).toEqual([damaged]);
    }
  });
});

let scene: Scene | undefined;
afterEach(async () => {
  await scene?.end();
  scene = undefined;
});

const files = { k1: `${key().toString('hex')}\n`, k2: key().toString('hex') };
const encrypted = 'encryption: { keys: [{ id: k1, keyFile: ./k1 }] }';

/** The histories of the scene's organization as the server has them: nothing decoded. */
async function rawHistories({ client, org }: Scene) {
  const found = [];
  for await (const { workflowId, runId } of client.workflow.list({ query: `DocferryOrg = "${org}"` })) {
    found.push(await client.workflow.getHandle(workflowId, runId).fetchHistory());
  }
  return found;
}

/**
 * The payloads in it that are not encrypted, as text. Temporal's SDK notes name and times of steps within a workflow task,
 * and names of patches, by itself.
 */
function clearPayloads(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  if ('metadata' in value && 'data' in value) {
    const clear = keyIdOf(value as Payload) === null ? text(value as Payload) : '';
    return clear === '' || /^\{"(seq":|id":"[a-z-]+","deprecated")/.test(clear) ? [] : [clear];
  }
  return Object.entries(value).flatMap(([name, inner]) =>
    // The server needs to read these.
    ['searchAttributes', 'indexedFields', 'header'].includes(name) ? [] : clearPayloads(inner),
  );
}

describe('with a key, Temporal is given no payload in clear text (X7)', () => {
  it('while exports, passes, their failures and heartbeats come and go', async () => {
    scene = await setScene({
      temporal: encrypted,
      files,
      // The download takes three seconds, in which its heartbeats can be read.
      sandbox: { jobSeconds: 1, entries: 300, padBytes: 3_000_000, storageRate: 1_000_000 },
    });
    await scene.startWorker();
    const { client, taskQueue, org, project, domain } = scene;
    scene.sandbox.setFaults({ storageRedirect: 'http://169.254.169.254/latest' });
    const refused = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    // A client with the key reads the failure, which stands encrypted in the history.
    await expect(refused.handle.result()).rejects.toMatchObject({
      cause: { cause: { type: 'LinkRefused', message: expect.stringContaining('169.254') } },
    });
    scene.sandbox.setFaults({ storageRedirect: '' });
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const details: unknown[] = [];
    while ((await handle.describe()).status.name === 'RUNNING') {
      const { raw } = await handle.describe();
      for (const { heartbeatDetails } of raw.pendingActivities ?? []) details.push(heartbeatDetails?.payloads ?? []);
      await exportState(client, org, domain).catch(() => null);
      await sleep(50);
    }
    expect(await handle.result()).toMatchObject({ outcome: 'published' });
    expect(keysIn(details)).toEqual(new Set(['k1']));
    expect(clearPayloads(details)).toEqual([]);
    const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    expect((await sync.result()).entries.seen).toBe(300);
    const description = await handle.describe();
    expect(await description.staticSummary()).toContain(domain);

    const histories = await rawHistories(scene);
    expect(histories.length).toBeGreaterThanOrEqual(4);
    const found = histories.map((history) => historyToJSON(history)).join('\n');
    expect(clearPayloads(histories)).toEqual([]);
    expect(keysIn(histories)).toEqual(new Set(['k1']));
    for (const words of ['169.254', 'storeId', '"stack', ' at ']) expect(found).not.toContain(words);
    const replayed = await replayNamespace(client, {
      since: 0,
      matches: (id) => id.includes(org),
      workflowBundle: workflowBundle(),
    });
    expect(replayed.length).toBeGreaterThanOrEqual(4);
    expect(replayed.filter(({ problem }) => problem !== null)).toEqual([]);
  });

  it('a step that is tried again says why', async () => {
    scene = await setScene({ temporal: encrypted, files, sandbox: { jobSeconds: 1, faults: { exportErrors: 1_000 } } });
    await scene.startWorker();
    const { client, taskQueue, org, domain } = scene;
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    await expect
      .poll(async () => retriesIn(client, await handle.describe()))
      .toMatchObject([{ reason: expect.stringContaining('ServerError: ') }]);
    expect(JSON.stringify((await handle.describe()).raw.pendingActivities)).not.toContain('the service');
    await handle.terminate();
  });
});

describe('a key that is missing', () => {
  it('ends a command with one clear error, and stops a run until a worker has it', async () => {
    scene = await setScene({ temporal: encrypted, files, sandbox: { jobSeconds: 1 } });
    const { client, taskQueue, org, domain, config } = scene;
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const other = { ...config.temporal, encryption: null };
    const lacking = await connectClient(other);
    onTestFinished(() => lacking.connection.close());
    await expect(
      lacking.workflow
        .getHandle(handle.workflowId)
        .describe()
        .then((run) => run.staticSummary()),
    ).rejects.toThrow('the key k1, which is not configured here');
    // A worker without the key leaves the run to others.
    const worker = await scene.startWorkerWith(
      '{ requests: 100, window: 1h }',
      'encryption: { keys: [{ id: k2, keyFile: ./k2 }] }',
    );
    const failed = async () => {
      const { events } = await handle.fetchHistory();
      return (events ?? []).some(({ workflowTaskFailedEventAttributes: failure }) => failure);
    };
    await expect.poll(failed).toBe(true);
    await expect.poll(() => scene?.logged()).toContain('the key k1, which is not configured here');
    await worker.stop();
    await scene.startWorker();
    expect(await handle.result()).toMatchObject({ outcome: 'published' });
  });
});

describe('a codec of the installation', () => {
  it('takes the place of keys', async () => {
    const code = `export default {
      async encode(payloads) { return payloads.map(({ metadata, data }) => ({ metadata: { ...metadata, turned: Buffer.from('yes') }, data: Buffer.from(data ?? []).reverse() })); },
      async decode(payloads) { return payloads.map(({ metadata, data }) => metadata?.turned ? { metadata, data: Buffer.from(data ?? []).reverse() } : { metadata, data }); },
    };`;
    scene = await setScene({
      temporal: 'codec: ./turned.mjs',
      files: { 'turned.mjs': code },
      sandbox: { jobSeconds: 1 },
    });
    await scene.startWorker();
    const { client, taskQueue, org, domain } = scene;
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    expect(await handle.result()).toMatchObject({ outcome: 'published' });
    const [input] =
      (await handle.fetchHistory()).events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    expect([...text(input)].reverse().join('')).toContain(domain);
  });

  it.each([
    ['a file that is not there', 'nowhere.mjs', 'cannot be loaded (ERR_MODULE_NOT_FOUND)'],
    ['a module without a codec', 'other.mjs', 'has no default export with encode and decode'],
  ])('is refused when it is %s', async (_, file, problem) => {
    scene = await setScene({ files: { 'other.mjs': 'export default {};' } });
    await expect(codecOf({ codec: `${scene.folder}/${file}` })).rejects.toThrow(problem);
  });

  it.each([
    ['is not there', null, '(ENOENT)'],
    ['holds another text', 'hunter2', 'expected 64 hexadecimal digits'],
  ])('a key file that %s is refused without showing it', async (_, held, problem) => {
    scene = await setScene({ files: held === null ? {} : { kx: held } });
    const refused = codecOf({ encryption: { keys: [{ id: 'kx', keyFile: `${scene.folder}/kx` }] } });
    await expect(refused).rejects.toThrow(problem);
    await expect(refused).rejects.not.toThrow('hunter2');
  });
});

describe('the codec server', () => {
  const ring = new KeyRing([{ id: 'k1', key: key() }]);
  const token = 'a-token-of-this-test';
  const origin = 'http://127.0.0.1:8233';

  async function started() {
    const server = codecServer({ codec: ring, token, origin }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init);
  }

  const asJson = ({ metadata, data }: Payload) => ({
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
    ),
    data: Buffer.from(data ?? []).toString('base64'),
  });
  const asking = (payloads: Payload[], headers: Record<string, string> = {}): RequestInit => ({
    method: 'POST',
    headers,
    body: JSON.stringify({ payloads: payloads.map(asJson) }),
  });

  it('decrypts for the page of the Temporal UI, and for programs with the token', async () => {
    const ask = await started();
    const clear = payloadOf('words of a run');
    const payloads = await ring.encode([clear]);
    const ways = [
      await ask(`/${token}/decode`, asking(payloads, { origin })),
      await ask('/decode', asking(payloads, { authorization: `Bearer ${token}` })),
    ];
    for (const answer of ways) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
      expect(await answer.json()).toEqual({ payloads: [asJson(clear)] });
    }
    const preflight = await ask(`/${token}/decode`, { method: 'OPTIONS', headers: { origin } });
    expect(preflight.status).toBe(200);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('X-Namespace');
    const back = await ask(`/${token}/encode`, asking([clear], { origin }));
    const { payloads: encoded } = (await back.json()) as { payloads: { metadata: Record<string, string> }[] };
    expect(Buffer.from(encoded[0]?.metadata['encryption-key-id'] ?? '', 'base64').toString()).toBe('k1');
  });

  it('shows which key is missing, beside what it can read', async () => {
    const ask = await started();
    const foreign = await new KeyRing([{ id: 'k9', key: key() }]).encode([payloadOf(1)]);
    const own = await ring.encode([payloadOf(2)]);
    const answer = await ask(`/${token}/decode`, asking([...foreign, ...own]));
    const { payloads } = (await answer.json()) as { payloads: { data: string }[] };
    const shown = payloads.map(({ data }) => Buffer.from(data, 'base64').toString());
    expect(shown).toEqual([expect.stringContaining('the key k9'), '2']);
  });

  it.each([
    ['another page', `/${token}/decode`, { origin: 'http://evil.example' }, 403],
    ['a page before it asks', `/${token}/decode`, { origin: 'http://evil.example', method: 'OPTIONS' }, 403],
    ['no token', '/decode', {}, 401],
    ['another token', '/decode', { authorization: 'Bearer other' }, 401],
    ['another path', `/${token}/elsewhere`, {}, 404],
  ])('refuses %s', async (_, path, { method = 'POST', ...headers }: Record<string, string>, status) => {
    const ask = await started();
    expect(
      (await ask(path, { ...asking([]), headers, ...(method === 'OPTIONS' ? { method, body: null } : {}) })).status,
    ).toBe(status);
  });

  it('reads no more of a body than its limit, also where the client names no length', async () => {
    const ask = await started();
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 1;
        if (sent > 200) return controller.close();
        controller.enqueue(Buffer.alloc(1024 ** 2, ' '));
      },
    });
    const answer = ask(`/${token}/decode`, { method: 'POST', body, duplex: 'half' } as RequestInit);
    // The connection may end before the client has read the answer.
    expect(await answer.then(({ status }) => status).catch(() => 400)).toBe(400);
    expect(sent).toBeLessThan(100);
  });

  it('refuses a body that makes no sense', async () => {
    const ask = await started();
    expect((await ask(`/${token}/decode`, { method: 'POST', body: '{"payloads":7}' })).status).toBe(400);
    expect((await ask(`/${token}/decode`, { method: 'POST', body: 'words' })).status).toBe(400);
  });
});
