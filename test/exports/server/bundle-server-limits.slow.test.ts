import { createConnection, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type ServerSettings, startBundleServer } from '../../../src/exports/server/bundle-server.ts';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import type { RunningServer } from '../../../src/http-server.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';
import { publish, siteDomain } from '../../tools/bundle/staged.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

/** More than the socket buffers of both sides take. */
const large = Buffer.alloc(32 * 1024 ** 2, 'docs ');
const [VERSION, NEXT] = ['20261121T040200Z-aaaaaaaaaaaa', '20261122T040200Z-bbbbbbbbbbbb'];
const path = `/${siteDomain}/versions/${VERSION}/bundle.tar.gz`;
const opened: { stop(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.stop()));
});

async function serving(settings: Partial<ServerSettings> = {}, content = large) {
  const root = await tempFolder();
  const store = await DirectoryBundleStore.open({ root, publicUrl: 'http://x' });
  await publish(store, VERSION, content);
  const server: RunningServer = await startBundleServer({ root, port: 0, ...settings });
  opened.push(server);
  return { root, store, server };
}

/** A client that sends and reads only on demand. */
async function client(port: number, says: string, { from = '127.0.0.1' } = {}) {
  const socket: Socket = createConnection({ port, host: '127.0.0.1', localAddress: from });
  socket.pause();
  opened.push({ stop: () => socket.destroy() });
  socket.on('error', () => undefined);
  let received = '';
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(says);
  return {
    socket,
    /** All bytes until the server closes the connection. */
    async rest(): Promise<string> {
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
      });
      socket.resume();
      await closed;
      return received;
    },
    /** The first answer's head. */
    async head(): Promise<string> {
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
        if (received.includes('\r\n\r\n')) socket.pause();
      });
      socket.resume();
      while (!received.includes('\r\n\r\n') && !socket.destroyed) await sleep(5);
      return received.slice(0, received.indexOf('\r\n\r\n'));
    },
  };
}

const get = (target = path, more = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

describe('readers', () => {
  it('beyond the limit of their address get Retry-After while others are served', async () => {
    const { server } = await serving({ readersPerAddress: 2, idleMs: 60_000 });
    for (let count = 0; count < 2; count += 1) {
      expect(await (await client(server.port, get())).head()).toMatch(/^HTTP\/1.1 200 OK/);
    }
    const refused = await fetch(`${server.url}${path}`);
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('cache-control')]).toEqual([
      503,
      '5',
      'no-store',
    ]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await (await client(server.port, get(), { from: '127.0.0.2' })).head()).toMatch(/^HTTP\/1.1 200 OK/);
  });

  it('beyond the total limit do so too, until one has finished', async () => {
    const failures: unknown[] = [];
    const { server } = await serving({ readers: 2, idleMs: 60_000, onFailure: (error) => failures.push(error) });
    const first = await client(server.port, get(), { from: '127.0.0.2' });
    const second = await client(server.port, get(), { from: '127.0.0.3' });
    for (const reader of [first, second]) expect(await reader.head()).toMatch(/^HTTP\/1.1 200 OK/);
    expect((await fetch(`${server.url}${path}`)).status).toBe(503);
    first.socket.destroy();
    await expect.poll(async () => (await fetch(`${server.url}${path}`, { method: 'HEAD' })).status).toBe(200);
    const whole = await fetch(`${server.url}${path}`);
    expect(sha256(Buffer.from(await whole.arrayBuffer()))).toBe(sha256(large));
    expect(failures).toEqual([]);
  });

  it('that ask for many things on one connection count for each of them', async () => {
    const { server } = await serving({ readersPerAddress: 3, idleMs: 60_000 });
    const reader = await client(server.port, get().repeat(20));
    expect(await reader.head()).toMatch(/^HTTP\/1.1 200 OK/);
    expect((await fetch(`${server.url}${path}`)).status).toBe(503);
  });

  it('that stop reading are cut off, and their slot is free again', async () => {
    const failures: unknown[] = [];
    const { server } = await serving({ readers: 1, idleMs: 300, onFailure: (error) => failures.push(error) });
    const lazy = await client(server.port, get());
    await expect.poll(async () => (await fetch(`${server.url}${path}`, { method: 'HEAD' })).status).toBe(200);
    const received = await lazy.rest();
    expect(received.length).toBeGreaterThan(0);
    expect(received.length).toBeLessThan(large.length);
    expect(failures).toEqual([]);
  });

  it('that are slow but keep reading get everything', async () => {
    const { server } = await serving({ idleMs: 1_000 }, large.subarray(0, 8 * 1024 ** 2));
    const response = await fetch(`${server.url}${path}`);
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes % (512 * 1024) < chunk.length) await sleep(50);
    }
    expect(bytes).toBe(8 * 1024 ** 2);
  });

  it('that open silent connections are refused beyond a number, and later closed', async () => {
    const { server } = await serving({ readersPerAddress: 1 });
    const silent = await Promise.all(Array.from({ length: 8 }, () => client(server.port, '')));
    await expect.poll(() => silent.filter(({ socket }) => socket.readableEnded || socket.destroyed).length).toBe(0);
    for (const { socket } of silent) socket.resume();
    await expect.poll(() => silent.filter(({ socket }) => socket.destroyed).length).toBe(4);
    expect(await (await client(server.port, get('/healthz'), { from: '127.0.0.2' })).head()).toMatch(
      /^HTTP\/1.1 200 OK/,
    );
  });

  it('that send their request byte by byte are closed', async () => {
    const { server } = await serving();
    const slow = await client(server.port, 'GET / HTTP/1.1\r\nHost: x\r\n');
    const timer = setInterval(() => slow.socket.write('X: y\r\n'), 200);
    try {
      expect(await slow.rest()).toMatch(/^HTTP\/1.1 408 /);
    } finally {
      clearInterval(timer);
    }
  });
});

describe('requests', () => {
  it('that are malformed are refused, each with its status', async () => {
    const { server } = await serving({}, Buffer.from('small'));
    const bad: [what: string, says: string, status: number][] = [
      ['too long a path', get(`/${'x'.repeat(1_100)}`), 414],
      ['too long a header', get(path, `X: ${'y'.repeat(9_000)}\r\n`), 431],
      ['a body', get(path, 'Content-Length: 5\r\n'), 400],
      ['a chunked body', get(path, 'Transfer-Encoding: chunked\r\n'), 400],
      ['no host', `GET ${path} HTTP/1.1\r\n\r\n`, 400],
      ['a bare line feed in a header', `GET ${path} HTTP/1.1\r\nHost: x\r\nX: a\nb\r\n\r\n`, 400],
      ['another method', `DELETE ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, 405],
      ['no method at all', `\u0000\u0001\r\n\r\n`, 400],
      ['an address for a proxy', get(`http://other.example${path}`), 404],
    ];
    for (const [what, says, status] of bad) {
      const head = await (await client(server.port, says)).head();
      expect([what, head.split('\r\n')[0]]).toEqual([what, expect.stringMatching(`^HTTP/1.1 ${status} `)]);
    }
    expect((await fetch(`${server.url}${path}`)).status).toBe(200);
  });

  it('for many ranges at once get the whole object, and many small ranges in turn fit together', async () => {
    const content = Buffer.from('0123456789'.repeat(100));
    const { server } = await serving({}, content);
    const many = Array.from({ length: 500 }, (_, index) => `${index}-${index}`).join(',');
    const whole = await fetch(`${server.url}${path}`, { headers: { range: `bytes=${many}` } });
    expect([whole.status, (await whole.arrayBuffer()).byteLength]).toEqual([200, 1_000]);
    const parts = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const range = `bytes=${index * 20}-${index * 20 + 19}`;
        return (await fetch(`${server.url}${path}`, { headers: { range } })).text();
      }),
    );
    expect(parts.join('')).toBe(content.toString());
  });

  it('of HEAD know nothing of ranges, and If-Match takes no weak tag', async () => {
    const { server } = await serving({}, Buffer.from('0123456789'));
    const ask = (method: string, headers: Record<string, string>) => fetch(`${server.url}${path}`, { method, headers });
    const head = await ask('HEAD', { range: 'bytes=2-4' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '10']);
    const etag = head.headers.get('etag') ?? '';
    expect((await ask('GET', { 'if-match': `W/${etag}` })).status).toBe(412);
    expect((await ask('GET', { 'if-match': `"x", ${etag}` })).status).toBe(200);
    expect((await ask('GET', { range: 'Bytes=2-4' })).status).toBe(206);
  });
});

describe('what happens in the store meanwhile', () => {
  it('does not disturb a reader: a version removed half-way is sent to its end, and is gone afterwards', async () => {
    const { store, server } = await serving({ idleMs: 60_000 });
    const response = await fetch(`${server.url}${path}`);
    const reader = response.body?.getReader();
    const first = (await reader?.read())?.value ?? new Uint8Array();
    await publish(store, NEXT, 'other');
    expect(await store.prune(siteDomain, 1)).toEqual([VERSION]);
    const chunks = [Buffer.from(first)];
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      chunks.push(Buffer.from(next.value));
    }
    expect(sha256(Buffer.concat(chunks))).toBe(sha256(large));
    expect((await fetch(`${server.url}${path}`)).status).toBe(404);
    expect((await fetch(`${server.url}${path.replace(VERSION, NEXT)}`)).status).toBe(200);
  });

  it('never lets a truncated file pass for a complete one', async () => {
    const { root, server } = await serving({}, Buffer.alloc(300_000, 'x'));
    const { truncate, appendFile } = await import('node:fs/promises');
    const file = `${root}/${siteDomain}/versions/${VERSION}/bundle.tar.gz`;
    await appendFile(file, 'more');
    await expect(fetch(`${server.url}${path}`).then((response) => response.arrayBuffer())).rejects.toThrow();
    await truncate(file, 100);
    await expect(fetch(`${server.url}${path}`).then((response) => response.arrayBuffer())).rejects.toThrow();
  });
});
