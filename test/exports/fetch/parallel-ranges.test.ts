import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DownloadOptions, download } from '../../../src/exports/fetch/download.ts';
import { ByteSpans } from '../../../src/exports/fetch/partial-file.ts';
import {
  answer,
  type Handler,
  partOf,
  randomObject,
  type StoredObject,
  serve,
  sha256,
  store,
} from '../../tools/bundle/object-server.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

const mib = 1024 ** 2;
const size = 20 * mib + 12_345;
const object = randomObject(size);

async function optionsFor(connections = 4): Promise<DownloadOptions> {
  return {
    file: join(await tempFolder(), 'archive'),
    policy: { allowInsecure: true, linkHosts: ['127.0.0.1'] },
    maxBytes: 100 * mib,
    retryDelayMs: 1,
    connections,
  };
}

async function expectWhole(file: string, result: { sha256: string; bytes: number }, expected: StoredObject) {
  expect(result).toMatchObject({ sha256: sha256(expected.bytes), bytes: expected.bytes.length });
  expect(expected.bytes.equals(await readFile(file))).toBe(true);
}

type Requests = Awaited<ReturnType<typeof serve>>['requests'];

const partsOf = (requests: Requests, length = size) => requests.map((request) => partOf(request, length));

/** Every byte was requested once, and no byte that was on disk. */
function expectEachOnce(requests: Requests, there: readonly (readonly [number, number])[] = []): void {
  const asked = new ByteSpans();
  let sum = 0;
  for (const part of partsOf(requests)) {
    if (part) asked.add(part);
    sum += part ? part.end - part.start : size;
  }
  for (const [start, end] of there) asked.add({ start, end });
  expect(asked.spans).toEqual([{ start: 0, end: size }]);
  expect(sum + there.reduce((all, [start, end]) => all + end - start, 0)).toBe(size);
}

/** Sends this many of the requested bytes, then breaks the connection. */
function breakAfter(sent: number, { bytes, etag }: StoredObject): Handler {
  return (request, response) => {
    const part = partOf(request, bytes.length);
    const { start, end } = part ?? { start: 0, end: bytes.length };
    const range = part && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` };
    response.writeHead(range ? 206 : 200, { etag, 'content-length': end - start, ...range });
    response.write(bytes.subarray(start, Math.min(end, start + sent)), () => response.destroy());
  };
}

describe('a download over several connections', () => {
  it('requests each byte once, with If-Match after the first request, over no more connections than allowed', async () => {
    const open = { now: 0, most: 0 };
    let allCame = () => {};
    const ready = new Promise<void>((resolve) => {
      allCame = resolve;
    });
    const sends = store(object, ready);
    const counting: Handler = (request, response) => {
      open.now += 1;
      open.most = Math.max(open.most, open.now);
      response.on('close', () => {
        open.now -= 1;
      });
      // A fifth would come at once.
      if (open.now === 4) setTimeout(allCame, 50);
      sends(request, response);
    };
    const server = await serve(counting);
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), object);
    expectEachOnce(server.requests);
    expect(open.most).toBe(4);
    const [first, ...others] = server.requests;
    expect(first?.headers['if-match']).toBeUndefined();
    expect(others.every(({ headers }) => headers['if-match'] === object.etag)).toBe(true);
  });

  it('resumes where each connection broke', async () => {
    const handlers = Array.from({ length: 10 }, () => breakAfter(mib, object));
    const server = await serve(...handlers, store(object));
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), object);
    expect(server.requests.length).toBeGreaterThan(12);
    expect(partsOf(server.requests)).not.toContain(null);
  });

  it('resumes after kill -9, in whatever order the bytes had arrived', async () => {
    const there = [
      [0, 3_000_000],
      [9_000_000, 9_500_000],
      [15_000_000, size],
    ] as const;
    for (const connections of [1, 4]) {
      const options = await optionsFor(connections);
      const partial = Buffer.alloc(size);
      for (const [start, end] of there) object.bytes.copy(partial, start, start, end);
      const lines = there.map(([start, end]) => {
        return `${start} ${end} ${crc32(object.bytes.subarray(start, end)).toString(16).padStart(8, '0')}`;
      });
      await writeFile(options.file, partial);
      const identity = JSON.stringify({ etag: object.etag, total: size });
      await writeFile(`${options.file}.resume`, [identity, ...lines, ''].join('\n'));
      const server = await serve(store(object));
      await expectWhole(options.file, await download(server.links, options), object);
      expectEachOnce(server.requests, there);
    }
  });

  it('takes one connection where the source ignores ranges, in the same request', async () => {
    const whole: Handler = (_request, response) => {
      response.writeHead(200, { etag: object.etag, 'content-length': size }).end(object.bytes);
    };
    const server = await serve(whole);
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), object);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['a weak ETag', 'W/"weak"'],
    ['no ETag', ''],
  ])('takes one connection where %s proves nothing', async (_what, etag) => {
    const unproved = { ...object, etag };
    const server = await serve(store(unproved));
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), unproved);
    expect(server.requests.map(({ headers }) => headers.range)).toEqual([`bytes=0-${8 * mib - 1}`, undefined]);
  });

  it('takes one connection where the length is unknown', async () => {
    const endless: Handler = (request, response) => {
      if (!request.headers.range) return void response.writeHead(200, { etag: object.etag }).end(object.bytes);
      response.writeHead(206, { etag: object.etag, 'content-range': `bytes 0-${8 * mib - 1}/*` });
      response.end(object.bytes.subarray(0, 8 * mib));
    };
    const server = await serve(endless);
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), object);
    expect(server.requests).toHaveLength(2);
  });

  it.each([0, 1, 8 * mib, 8 * mib + 1])('fetches an object of %i bytes', async (length) => {
    const small = randomObject(length);
    const server = await serve(store(small));
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), small);
  });

  it('returns the whole new object when it is replaced half-way', async () => {
    for (const after of [randomObject(size), randomObject(9 * mib), randomObject(size + 5)]) {
      const old = breakAfter(mib, object);
      const server = await serve(store(object), old, old, old, store(after));
      const options = await optionsFor();
      await expectWhole(options.file, await download(server.links, options), after);
    }
  });

  it('never mixes in bytes of another object, range or length', async () => {
    const after = randomObject(size);
    const lie = (headers: (start: number, end: number) => Record<string, string>): Handler => {
      return (request, response) => {
        const { start, end } = partOf(request, size) ?? { start: 0, end: size };
        const range = `bytes ${start}-${end - 1}/${size}`;
        response.writeHead(206, { etag: object.etag, 'content-range': range, ...headers(start, end) });
        response.end(after.bytes.subarray(start, end));
      };
    };
    const liars = [
      lie(() => ({ etag: after.etag })),
      lie((start, end) => ({ 'content-range': `bytes ${start + 1}-${end - 1}/${size}` })),
      lie((start, end) => ({ 'content-range': `bytes ${start}-${end - 1}/${size + 1}` })),
    ];
    for (const liar of liars) {
      const server = await serve(store(object), liar, store(after));
      const options = await optionsFor();
      await expectWhole(options.file, await download(server.links, options), after);
    }
  });

  it('starts over on one connection when the source stops sending ranges', async () => {
    const whole: Handler = (_request, response) => {
      response.writeHead(200, { etag: object.etag, 'content-length': size }).end(object.bytes);
    };
    const server = await serve(store(object), breakAfter(mib, object), whole);
    const options = await optionsFor();
    await expectWhole(options.file, await download(server.links, options), object);
  });

  it('asks once for a new link when all connections need one', async () => {
    const server = await serve(store(object), answer(403), answer(403), answer(403), store(object));
    const options = await optionsFor();
    let asked = 0;
    const links = () => {
      asked += 1;
      return server.links().then((link) => ({ ...link, href: `${link.href}&n=${asked}` }));
    };
    await expectWhole(options.file, await download(links, options), object);
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(asked).toBeLessThanOrEqual(4);
  });

  it('gives up without progress, and keeps the bytes on disk', async () => {
    const options = await optionsFor();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const first: Handler = (request, response) => {
      response.on('close', end);
      store(object)(request, response);
    };
    // On a busy machine the others could run out of tries while bytes still arrive.
    const refuse: Handler = (request, response) => void ended.then(() => answer(503)(request, response));
    const dead = await serve(first, refuse);
    await expect(download(dead.links, options)).rejects.toMatchObject({ name: 'DownloadFailed', retryable: true });
    const server = await serve(store(object));
    const result = await download(server.links, options);
    await expectWhole(options.file, result, object);
    // All that the first connection had brought: on a busy machine some of it was still on its way.
    expect(result.resumedFrom).toEqual([expect.any(Number)]);
    expect(result.resumedFrom[0]).toBeGreaterThan(0);
  });

  it("ends with the source's bytes whatever is cut where", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: size }),
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.integer({ min: 0, max: 3 * mib }), { maxLength: 12 }),
        async (length, connections, cuts) => {
          const part = { bytes: object.bytes.subarray(0, length), etag: object.etag };
          const server = await serve(...cuts.map((cut) => breakAfter(cut, part)), store(part));
          const options = await optionsFor(connections);
          await expectWhole(options.file, await download(server.links, options), part);
        },
      ),
      { numRuns: propertyRuns(12) },
    );
  });
});
