import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type DownloadOptions, download } from '../../../src/exports/fetch/download.ts';
import { checkLink, LinkRefused } from '../../../src/exports/fetch/presigned-links.ts';
import {
  answer,
  type Handler,
  linksTo,
  partOf,
  randomObject,
  serve,
  sha256,
  store,
} from '../../tools/bundle/object-server.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

/*
 * What an object store, or a server in its place, may do to a download, by the ids of `bad-input.md`. More of H1 and H3
 * is in link-policy.test.ts, download.test.ts and parallel-ranges.test.ts.
 */

const object = randomObject(300_000);
const policy = { allowInsecure: true, linkHosts: ['127.0.0.1'] };

async function optionsFor(): Promise<DownloadOptions> {
  return { file: join(await tempFolder(), 'archive'), policy, maxBytes: 1_000_000, retryDelayMs: 1 };
}

async function expectWhole(options: DownloadOptions, result: { sha256: string }) {
  expect(result.sha256).toBe(sha256(object.bytes));
  expect(sha256(await readFile(options.file))).toBe(result.sha256);
}

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error('downloaded'),
    (error) => error,
  );
}

/** A proxy that notes the requests it passes on. */
async function proxyServer() {
  const asked: string[] = [];
  const server = createServer();
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    const [host, port] = (request.url ?? '').split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { asked, url: new URL(`http://127.0.0.1:${port}`) };
}

describe('H1: where a link may lead', () => {
  it.each(['file:///etc/passwd', 'data:text/plain,x', 'ftp://127.0.0.1/x', 'https://user:SECRET@store.example/'])(
    'not to %s, nor by a redirect',
    async (target) => {
      const options = await optionsFor();
      const direct = await failureOf(download(linksTo(target), options));
      const server = await serve(answer(302, { location: target }));
      const redirected = await failureOf(download(server.links, options));
      expect([direct.name, redirected.name]).toEqual(['LinkRefused', 'LinkRefused']);
      expect(`${direct.message}${redirected.message}`).not.toMatch(/SECRET|passwd/);
    },
  );

  it('not from https down to http', () => {
    expect(() => checkLink('http://store.example/b', { allowInsecure: false, linkHosts: ['store.example'] })).toThrow(
      LinkRefused,
    );
  });

  it('behind a proxy only to listed hosts, because the proxy connects', async () => {
    const proxy = await proxyServer();
    const server = await serve(store(object));
    const proxied = (linkHosts: string[]) => ({ allowInsecure: true, linkHosts, proxyFor: () => proxy.url });
    const options = await optionsFor();
    const refused = await failureOf(download(server.links, { ...options, policy: proxied(['other.example']) }));
    expect(refused).toMatchObject({
      name: 'LinkRefused',
      message: 'behind a proxy, 127.0.0.1 must be listed in service.linkHosts',
    });
    expect([proxy.asked, server.requests]).toEqual([[], []]);
    const result = await download(server.links, { ...options, policy: proxied(['127.0.0.1']) });
    await expectWhole(options, result);
    expect(proxy.asked).toEqual([`127.0.0.1:${server.port}`]);
  });
});

describe('H2: no request identifies the actor', () => {
  it('neither to the store nor across a redirect', async () => {
    const target = await serve(store(object));
    const server = await serve(answer(307, { location: target.link, 'set-cookie': 'a=b' }));
    const options = await optionsFor();
    await expectWhole(options, await download(server.links, options));
    for (const { headers } of [...server.requests, ...target.requests]) {
      expect(Object.keys(headers).sort()).toEqual(['accept-encoding', 'connection', 'host']);
    }
  });
});

describe('H3: what a store may answer', () => {
  it('a Content-Length that is too large: a cut, and finally a failure', async () => {
    const short: Handler = (request, response) => {
      const { start } = partOf(request, object.bytes.length) ?? { start: 0 };
      const range = { 'content-range': `bytes ${start}-${object.bytes.length - 1}/${object.bytes.length}` };
      response.writeHead(start > 0 ? 206 : 200, {
        etag: object.etag,
        'content-length': object.bytes.length - start,
        ...(start > 0 ? range : {}),
      });
      if (start === 0) response.write(object.bytes.subarray(0, 1_000), () => setTimeout(() => response.destroy(), 50));
      else response.flushHeaders();
      if (start > 0) setTimeout(() => response.destroy(), 10);
    };
    const server = await serve(short);
    await expect(download(server.links, await optionsFor())).rejects.toMatchObject({
      name: 'DownloadFailed',
      retryable: true,
    });
  });

  it('a Content-Length that is too small: the announced bytes are the object', async () => {
    const long: Handler = (request) => {
      const head = `HTTP/1.1 200 OK\r\netag: ${object.etag}\r\ncontent-length: ${object.bytes.length}\r\n\r\n`;
      request.socket.write(head);
      request.socket.write(object.bytes);
      request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond');
    };
    const server = await serve(long);
    const options = await optionsFor();
    await expectWhole(options, await download(server.links, options));
  });

  // As long as undici's buffer for a body: its reader is not there yet when the connection ends.
  const { bytes: waiting } = randomObject(65_536);
  const lengthOf = `content-length: ${waiting.length}\r\n`;
  const resets = (socket: Socket) => setTimeout(() => socket.resetAndDestroy(), 30);
  it.each([
    ['a body that ends with the connection', '', (socket: Socket) => socket.end()],
    ['a body with a length, on a connection that ends', lengthOf, (socket: Socket) => socket.end()],
    ['a body without a length, on a connection that is reset: cut', '', resets],
  ])('%s while it waits for the disk', async (_what, length, end) => {
    const closing: Handler = ({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\n${length}connection: close\r\n\r\n`);
      socket.write(waiting);
      end(socket);
    };
    const server = await serve(closing, (_request, response) => void response.end(waiting));
    const freeBytes = async () => {
      await sleep(100);
      return Number.MAX_SAFE_INTEGER;
    };
    const result = await download(server.links, { ...(await optionsFor()), freeBytes });
    expect(result.sha256).toBe(sha256(waiting));
    expect(server.requests).toHaveLength(end === resets ? 2 : 1);
  });

  it('a body that ends with the connection, which is reset: cut', async () => {
    const reset: Handler = (request) => {
      request.socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
      request.socket.write(object.bytes.subarray(0, 200_000), () =>
        setTimeout(() => request.socket.resetAndDestroy(), 50),
      );
    };
    const server = await serve(reset, store(object));
    const options = await optionsFor();
    await expectWhole(options, await download(server.links, options));
    expect(server.requests).toHaveLength(2);
  });

  it('chunks that break off: cut', async () => {
    const chunked: Handler = (_request, response) => {
      response.writeHead(200, { etag: object.etag });
      response.write(object.bytes.subarray(0, 100_000), () => setTimeout(() => response.destroy(), 50));
    };
    const server = await serve(chunked, store(object));
    const options = await optionsFor();
    await expectWhole(options, await download(server.links, options));
    // Without a length nothing proves the bytes on disk: the download starts over.
    expect(server.requests.map(({ headers }) => headers.range)).toEqual([undefined, undefined]);
  });

  it('429 and 503 with Retry-After: waits as asked, or passes a long wait on to the caller', async () => {
    const seconds = await serve(answer(503, { 'retry-after': '1' }), store(object));
    const options = await optionsFor();
    const begun = performance.now();
    await expectWhole(options, await download(seconds.links, options));
    expect(performance.now() - begun).toBeGreaterThanOrEqual(990);
    const date = new Date(Date.now() + 600_000).toUTCString();
    const long = await serve(answer(429, { 'retry-after': date }));
    const failure = await failureOf(download(long.links, await optionsFor()));
    expect(failure).toMatchObject({ name: 'DownloadFailed', retryable: true });
    expect(Number('retryAfterMs' in failure ? failure.retryAfterMs : 0)).toBeGreaterThan(590_000);
    expect(long.requests).toHaveLength(1);
  });

  it('a byte now and then: ended by the time limit of the download', async () => {
    const trickle: Handler = (_request, response) => {
      response.writeHead(200, { etag: object.etag, 'content-length': object.bytes.length });
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    };
    const server = await serve(trickle);
    const options = { ...(await optionsFor()), idleTimeoutMs: 5_000, timeLimitMs: 300 };
    await expect(download(server.links, options)).rejects.toMatchObject({
      name: 'DownloadFailed',
      retryable: false,
      message: 'the download took longer than 0 s',
    });
  });

  it('endless headers: ended by the idle limit or the header size limit', async () => {
    const endless: Handler = (request) => {
      request.socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => request.socket.write(`x-${'y'.repeat(2_000)}: z\r\n`), 5);
      request.socket.on('close', () => clearInterval(timer)).on('error', () => undefined);
    };
    const server = await serve(endless);
    const options = { ...(await optionsFor()), idleTimeoutMs: 500 };
    await expect(download(server.links, options)).rejects.toMatchObject({ name: 'DownloadFailed' });
  });

  it('endless informational answers: ended by the idle limit', { timeout: 30_000 }, async () => {
    const endless: Handler = (request) => {
      const timer = setInterval(() => request.socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), 50);
      request.socket.on('close', () => clearInterval(timer)).on('error', () => undefined);
    };
    const server = await serve(endless);
    const options = { ...(await optionsFor()), idleTimeoutMs: 200 };
    await expect(download(server.links, options)).rejects.toMatchObject({
      name: 'DownloadFailed',
      retryable: true,
      message: expect.stringContaining('UND_ERR_HEADERS_TIMEOUT'),
    });
  });

  it('416 for a complete file: proved again, or downloaded again', async () => {
    const options = await optionsFor();
    const first = await serve(store(object));
    await download(first.links, options);
    const second = await serve(answer(416), store(object));
    await expectWhole(options, await download(second.links, options));
    expect(second.requests.map(({ headers }) => headers.range)).toEqual(['bytes=299999-', undefined]);
  });
});

describe('H4: the link is in no error', () => {
  it.each([
    ['a refusal', answer(403, {}, '<Error>SECRET</Error>')],
    ['a failure', answer(500, { 'x-secret': 'SECRET' }, 'SECRET')],
    ['a reset', (request: Parameters<Handler>[0]) => void request.socket.resetAndDestroy()],
    ['a redirect to nowhere', answer(302, { location: 'https://[SECRET' })],
    ['a missing object', answer(404, {}, 'SECRET')],
  ])('of %s', async (_what, handler) => {
    const server = await serve(handler);
    const failure = await failureOf(download(server.links, await optionsFor()));
    expect(failure.name).not.toBe('Error');
    expect(`${failure.message}${failure.stack}${JSON.stringify(failure)}`).not.toMatch(/SECRET|signature/);
    expect(failure.cause).toBeUndefined();
  });
});
