import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

interface RangeSourceOptions {
  /** Each answer to the first so many requests breaks off... */
  cuts?: number;
  /** ...after so many bytes. */
  cutAfter?: number;
  /** What is served as every file after the first cut. */
  replacement?: string;
}

const chunk = 1024 ** 2;

/**
 * A folder over HTTP with Range, If-Match and ETag, as object stores do it, that breaks connections off and changes what
 * it serves on demand.
 */
export async function startRangeSource(folder: string, options: RangeSourceOptions = {}) {
  const { cuts = 0, cutAfter = 0, replacement } = options;
  let requests = 0;
  const sent = { bytes: 0 };
  const server = createServer(async (request, response) => {
    requests += 1;
    const cut = requests <= cuts;
    const asked = basename(new URL(request.url ?? '', 'http://x').pathname);
    const file = join(folder, replacement !== undefined && requests > 1 ? replacement : asked);
    const { size } = await stat(file);
    const etag = `"${basename(file)}-${size}"`;
    const ifMatch = request.headers['if-match'];
    if (ifMatch !== undefined && ifMatch !== etag) return void response.writeHead(412).end();
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    const end = last ? Math.min(Number(last), size - 1) : size - 1;
    if (start >= size) return void response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    response.writeHead(first === undefined ? 200 : 206, {
      etag,
      'accept-ranges': 'bytes',
      'content-length': end - start + 1,
      'last-modified': new Date(Date.UTC(2026, 0, 1)).toUTCString(),
      ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }),
    });
    const until = cut ? Math.min(end, start + cutAfter - 1) : end;
    sent.bytes += until - start + 1;
    await send(file, start, until, response).catch(() => response.destroy());
    if (until < end) {
      await sleep(250);
      response.destroy();
    } else response.end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: (file: string) => `http://127.0.0.1:${port}/${file}`,
    sent: () => sent.bytes,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function send(file: string, start: number, end: number, response: ServerResponse): Promise<void> {
  const stream = createReadStream(file, { start, end, highWaterMark: chunk });
  stream.pipe(response, { end: false });
  await finished(stream);
}
