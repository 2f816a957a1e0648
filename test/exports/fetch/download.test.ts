import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { DownloadProgress } from '../../../src/exports/fetch/download.ts';
import { type DownloadOptions, DownloadRoom, download, TransferSpeed } from '../../../src/exports/fetch/download.ts';
import type { LinkSource } from '../../../src/exports/fetch/presigned-links.ts';
import {
  answer,
  cutAfter,
  type Handler,
  linksTo,
  randomObject,
  type StoredObject,
  serve,
  sha256,
  store,
} from '../../tools/bundle/object-server.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const linkPolicy = { allowInsecure: true, linkHosts: ['127.0.0.1'] };
const size = 300_000;

async function optionsFor(
  file?: string,
): Promise<DownloadOptions & { seen: DownloadProgress[]; onDisk: () => number }> {
  const seen: DownloadProgress[] = [];
  let read = 0;
  return {
    file: file ?? join(await tempFolder(), 'archive'),
    policy: linkPolicy,
    maxBytes: 1_000_000,
    retryDelayMs: 1,
    onProgress: (progress) => seen.push(progress),
    seen,
    // By what was reported since the last call: an earlier attempt says nothing about this one.
    onDisk: () => {
      const last = seen.slice(read).at(-1)?.offset ?? 0;
      read = seen.length;
      return last;
    },
  };
}

async function expectWhole(file: string, result: { sha256: string; bytes: number }, object: StoredObject) {
  expect(result).toMatchObject({ sha256: sha256(object.bytes), bytes: object.bytes.length });
  expect(sha256(await readFile(file))).toBe(sha256(object.bytes));
}

/** A partial download left by a process that was killed after `offset` bytes. */
async function leftBehind(object: StoredObject, offset: number, bytes = object.bytes): Promise<string> {
  const file = join(await tempFolder(), 'archive');
  const part = bytes.subarray(0, offset);
  await writeFile(file, part);
  const journal = [JSON.stringify({ etag: object.etag, total: object.bytes.length }), lineOf(0, part), ''];
  await writeFile(`${file}.resume`, journal.join('\n'));
  return file;
}

/** The journal's line for bytes on disk. */
function lineOf(start: number, bytes: Buffer): string {
  return `${start} ${start + bytes.length} ${crc32(bytes).toString(16).padStart(8, '0')}`;
}

describe('download', () => {
  it('stores the object, returns its digest, and sends no credentials and asks for no encoding', async () => {
    const object = randomObject(size);
    const server = await serve(store(object));
    const options = await optionsFor();
    const result = await download(server.links, options);
    await expectWhole(options.file, result, object);
    expect(result).toMatchObject({ resumedFrom: [], announcedBytes: null });
    expect(options.seen.at(-1)).toEqual({ offset: size, total: size });
    expect(server.requests).toHaveLength(1);
    const { headers } = server.requests[0] ?? { headers: {} };
    expect(headers).toMatchObject({ 'accept-encoding': 'identity' });
    expect(Object.keys(headers)).not.toContain('authorization');
  });

  it('resumes where it was cut, twice, and requests no byte again', async () => {
    const object = randomObject(size);
    const options = await optionsFor();
    const { onDisk } = options;
    const server = await serve(cutAfter(100_000, object, onDisk), cutAfter(70_000, object, onDisk), store(object));
    const result = await download(server.links, options);
    await expectWhole(options.file, result, object);
    expect(result.resumedFrom).toEqual([100_000, 170_000]);
    expect(server.requests.map(({ headers }) => headers.range)).toEqual([undefined, 'bytes=100000-', 'bytes=170000-']);
    expect(server.requests[1]?.headers['if-match']).toBe(object.etag);
  });

  it('resumes after kill -9 from the bytes on disk', async () => {
    const object = randomObject(size);
    const server = await serve(store(object));
    const file = await leftBehind(object, 123_456);
    const result = await download(server.links, await optionsFor(file));
    await expectWhole(file, result, object);
    expect(result.resumedFrom).toEqual([123_456]);
  });

  it('proves a complete file still current with its last byte', async () => {
    const object = randomObject(size);
    const server = await serve(store(object));
    const file = await leftBehind(object, size);
    await expectWhole(file, await download(server.links, await optionsFor(file)), object);
    expect(server.requests.map(({ headers }) => headers.range)).toEqual([`bytes=${size - 1}-`]);
  });

  it('starts over without proof: bytes but no readable resume point', async () => {
    const object = randomObject(size);
    for (const sidecar of ['', 'null', '{"etag":5}', '{"etag":"\\"x\\"","total":-1}']) {
      const server = await serve(store(object));
      const file = await leftBehind(object, 1000, Buffer.alloc(1000));
      await writeFile(`${file}.resume`, sidecar);
      const result = await download(server.links, await optionsFor(file));
      await expectWhole(file, result, object);
      expect(result.resumedFrom).toEqual([]);
    }
  });

  it('returns the whole new object when it changed after a cut', async () => {
    const before = randomObject(size);
    for (const after of [randomObject(size), randomObject(50_000), randomObject(size + 9)]) {
      const options = await optionsFor();
      const server = await serve(cutAfter(100_000, before, options.onDisk), store(after));
      const result = await download(server.links, options);
      await expectWhole(options.file, result, after);
      expect(result.resumedFrom).toEqual([]);
    }
  });

  it('does not believe a 206 of another object, range or length, and takes a 200 as the whole', async () => {
    const before = randomObject(size);
    const after = randomObject(size);
    const part = (headers: Record<string, string>): Handler => {
      const range = `bytes 100000-${size - 1}/${size}`;
      return (_request, response) =>
        void response
          .writeHead(206, { etag: before.etag, 'content-range': range, ...headers })
          .end(after.bytes.subarray(100_000));
    };
    const liars = [
      part({ etag: after.etag }),
      part({ etag: `W/${before.etag}` }),
      part({ 'content-range': `bytes 100001-${size - 1}/${size}` }),
      part({ 'content-range': `bytes 100000-${size - 1}/*` }),
      part({ 'content-range': `bytes 100000-${size}/${size + 1}` }),
      (_request, response) => void response.writeHead(200, { etag: after.etag }).end(after.bytes),
    ] satisfies Handler[];
    for (const liar of liars) {
      const options = await optionsFor();
      const server = await serve(cutAfter(100_000, before, options.onDisk), liar, store(after));
      await expectWhole(options.file, await download(server.links, options), after);
    }
  });

  it('does not accept a weak ETag as proof', async () => {
    const object = { ...randomObject(size), etag: 'W/"weak"' };
    const options = await optionsFor();
    const server = await serve(cutAfter(100_000, object, options.onDisk), store(object));
    const result = await download(server.links, options);
    await expectWhole(options.file, result, object);
    expect(result).toMatchObject({ resumedFrom: [] });
    expect(server.requests[1]?.headers.range).toBeUndefined();
  });

  it('repeats after resets and 5xx', async () => {
    const object = randomObject(1000);
    const reset: Handler = (request) => void request.socket.resetAndDestroy();
    const server = await serve(reset, answer(503), answer(429), reset, store(object));
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), object);
  });

  it('resumes after silence', async () => {
    const object = randomObject(size);
    const stall: Handler = (_request, response) => {
      response.writeHead(200, { etag: object.etag, 'content-length': size });
      response.write(object.bytes.subarray(0, 1000));
    };
    const server = await serve(stall, store(object));
    const options = { ...(await optionsFor()), idleTimeoutMs: 1_000 };
    const result = await download(server.links, options);
    await expectWhole(options.file, result, object);
    // On a busy machine the rest may fall silent too.
    expect(result.resumedFrom[0]).toBe(1000);
  });

  it('gives up without progress, as a retryable failure', async () => {
    const server = await serve(answer(500, {}, 'secret body'));
    await expect(download(server.links, await optionsFor())).rejects.toMatchObject({
      name: 'DownloadFailed',
      retryable: true,
      message: 'the download failed: HTTP 500',
    });
    expect(server.requests).toHaveLength(5);
  });

  it('gives up on a source that always cuts and never resumes', async () => {
    const object = { ...randomObject(size), etag: '' };
    const options = await optionsFor();
    const server = await serve(cutAfter(100_000, object, options.onDisk));
    await expect(download(server.links, options)).rejects.toMatchObject({
      name: 'DownloadFailed',
      retryable: true,
    });
    expect(server.requests.length).toBeLessThan(10);
  });

  it.each([400, 401, 403])('asks for a new link on %i, and resumes', async (status) => {
    const object = randomObject(size);
    const options = await optionsFor();
    const refused = answer(status, {}, '<Error/>');
    const server = await serve(cutAfter(100_000, object, options.onDisk), refused, store(object));
    let asked = 0;
    const links: LinkSource = () => {
      asked += 1;
      return linksTo(`${server.link}&link=${asked}`)();
    };
    const result = await download(links, options);
    await expectWhole(options.file, result, object);
    expect(result.resumedFrom).toEqual([100_000]);
    expect(server.requests.map(({ url }) => url?.at(-1))).toEqual(['1', '1', '2']);
  });

  it('gives up when every link is refused, and keeps the bytes on disk', async () => {
    const object = randomObject(size);
    const options = await optionsFor();
    const forbidden = await serve(cutAfter(100_000, object, options.onDisk), answer(403, {}, '<Error>SECRET</Error>'));
    await expect(download(forbidden.links, options)).rejects.toMatchObject({
      name: 'LinkExpired',
      message: '3 links in a row were refused (HTTP 403)',
    });
    expect(forbidden.requests).toHaveLength(4);
    const server = await serve(store(object));
    const result = await download(server.links, options);
    await expectWhole(options.file, result, object);
    expect(result.resumedFrom).toEqual([100_000]);
  });

  it.each(['gzip', 'aws-chunked', 'aws-chunked, GZIP'])(
    'keeps the bytes of an object stored as %s',
    async (encoding) => {
      const object = randomObject(size);
      const options = await optionsFor();
      const server = await serve((_request, response) => {
        response.writeHead(200, { 'content-encoding': encoding }).end(object.bytes);
      });
      await expectWhole(options.file, await download(server.links, options), object);
    },
  );

  it.each([
    ['a transformed body', answer(200, { 'content-encoding': 'br' }, 'x'), false],
    ['a missing object', answer(404), true],
    ['an empty answer', answer(204), false],
  ])('refuses %s at once', async (_what, handler, retryable) => {
    const server = await serve(handler);
    await expect(download(server.links, await optionsFor())).rejects.toMatchObject({
      name: 'DownloadFailed',
      retryable,
    });
    expect(server.requests).toHaveLength(1);
  });

  it('stops at the size limit, announced or not', async () => {
    const object = randomObject(size);
    const endless: Handler = (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', more);
      more();
    };
    for (const handler of [store(object), endless]) {
      const server = await serve(handler);
      const options = { ...(await optionsFor()), maxBytes: 200_000 };
      await expect(download(server.links, options)).rejects.toMatchObject({ name: 'ArchiveTooLarge' });
      expect((await stat(options.file)).size).toBeLessThanOrEqual(200_000);
    }
  });

  it('stops when aborted, with the reason', async () => {
    const object = randomObject(size);
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const server = await serve(cutAfter(100_000, object, () => 0));
    const options = { ...(await optionsFor()), signal: controller.signal, onProgress: () => controller.abort(reason) };
    await expect(download(server.links, options)).rejects.toBe(reason);
  });

  it('throws the error of the disk', async () => {
    const server = await serve(store(randomObject(size)));
    await expect(download(server.links, await optionsFor(await tempFolder()))).rejects.toMatchObject({
      code: 'EISDIR',
    });
    expect(server.requests).toHaveLength(0);
  });

  it('follows at most three redirects', async () => {
    const object = randomObject(1000);
    const target = await serve(store(object));
    const hop = answer(302, { location: target.link });
    const relative = answer(307, { location: '/again' });
    const options = await optionsFor();
    const server = await serve(relative, relative, hop);
    await expectWhole(options.file, await download(server.links, options), object);
    expect(server.requests[1]?.url).toBe('/again');
    const circle = await serve(relative);
    await expect(download(circle.links, options)).rejects.toMatchObject({ name: 'DownloadFailed', retryable: false });
    expect(circle.requests).toHaveLength(4);
  });
});

describe('the link policy, over the wire', () => {
  it.each([
    ['127.0.0.1', 'host'],
    ['localhost', 'a name that resolves to this machine'],
    ['2130706433', 'a decimal address'],
    ['0x7f000001', 'a hexadecimal address'],
    ['0177.0.0.1', 'an octal address'],
    ['[::ffff:127.0.0.1]', 'an IPv4 address in IPv6'],
  ])('refuses %s (%s) before a request is sent', async (host) => {
    const server = await serve(store(randomObject(10)));
    const options = { ...(await optionsFor()), policy: { allowInsecure: true, linkHosts: ['other.example'] } };
    const link = `http://${host}:${server.port}/b?signature=SECRET`;
    const error: Error = await download(linksTo(link), options).then(
      () => new Error('downloaded'),
      (refused) => refused,
    );
    expect(error.name).toBe('LinkRefused');
    expect(`${error.message}${error.stack}`).not.toMatch(/SECRET|signature/);
    expect(server.requests).toHaveLength(0);
  });

  it('checks every redirect', async () => {
    const inside = await serve(store(randomObject(10)));
    const server = await serve(answer(302, { location: `http://localhost:${inside.port}/` }));
    const policy = { allowInsecure: true, linkHosts: [`127.0.0.1:${server.port}`] };
    await expect(download(server.links, { ...(await optionsFor()), policy })).rejects.toMatchObject({
      name: 'LinkRefused',
    });
    expect(inside.requests).toHaveLength(0);
  });
});

const mib = 1024 ** 2;

it('a download needs room beside the earlier ones, and what they need shrinks as they go on', async () => {
  const folder = await tempFolder();
  const begin = (left: () => number) => DownloadRoom.begin(folder, async () => 200 * mib, left);
  let firstLeft = 90 * mib;
  const first = await begin(() => firstLeft);
  const second = await begin(() => 90 * mib);
  // 64 MiB stay free for everything else.
  await first.requireBesideOthers();
  await expect(second.requireBesideOthers()).rejects.toMatchObject({ name: 'NoRoom' });
  // One that is under way is not ended for the sake of the others.
  await second.requireForOwn();
  firstLeft = 40 * mib;
  await second.requireBesideOthers();
  firstLeft = 90 * mib;
  first.end();
  await second.requireBesideOthers();
  second.end();
});

function speedOf(...samples: [at: number, offset: number][]): number | null {
  const speed = new TransferSpeed();
  for (const [at, offset] of samples) speed.add(at, offset);
  return speed.bytesPerSecond;
}

describe('the speed of a download', () => {
  it('is unknown at first', () => {
    expect(speedOf()).toBeNull();
    expect(speedOf([0, 0], [400, 1_000_000])).toBeNull();
  });

  it('is that of the last ten seconds', () => {
    expect(speedOf([0, 0], [2_000, 4_000_000])).toBe(2_000_000);
    expect(speedOf([0, 0], [10_000, 90_000_000], [20_000, 100_000_000])).toBe(1_000_000);
  });

  it('counts from when the download started over', () => {
    expect(speedOf([0, 90_000_000], [1_000, 0], [2_000, 3_000_000])).toBe(3_000_000);
  });

  it('falls to zero when no bytes arrive', () => {
    expect(speedOf([0, 5], [11_000, 5], [12_000, 5])).toBe(0);
  });
});
