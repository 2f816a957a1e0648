import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { changing, StoreNotWritable } from '../../../src/exports/store/bundle-store.ts';
import { openBundleStore } from '../../../src/exports/store/open-bundle-store.ts';
import { listen } from '../../service/http-server.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { type S3Server, s3ServerProgram, startS3Server } from '../../tools/servers/s3-server.ts';

const program = await s3ServerProgram();
const { env } = process;
let s3: S3Server;
afterEach(() => {
  process.env = env;
});

describe.skipIf(program === null)('openBundleStore', () => {
  beforeAll(async () => {
    s3 = await startS3Server(program ?? '');
  });
  afterAll(() => s3.stop());

  it('reaches a bucket through the proxy of the environment, and past it for hosts in NO_PROXY', async () => {
    const tunnels: (string | undefined)[] = [];
    const proxy = http.createServer((_request, response) => response.writeHead(500).end());
    proxy.on('connect', (request: http.IncomingMessage, socket: net.Socket) => {
      tunnels.push(request.url);
      const upstream = net.connect(Number(new URL(s3.endpoint).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) end.on('error', () => end.destroy());
    });
    process.env = { ...env, HTTP_PROXY: `http://127.0.0.1:${await listen(proxy)}`, NO_PROXY: 'other.test' };
    const bundles = (host: string) =>
      tempFolder().then((folder) =>
        openBundleStore({
          kind: 's3',
          bucket: s3.bucket,
          prefix: 'proxied',
          endpoint: `http://${host}:9000`,
          workFolder: join(folder, 'work'),
          publicUrl: 'http://x',
          signing: null,
        }),
      );
    const store = await bundles('s3.test');
    await store.checkWritable();
    expect(new Set(tunnels)).toEqual(new Set(['s3.test:9000']));
    const before = tunnels.length;
    await expect(bundles('other.test')).rejects.toMatchObject({ name: 'StoreUnreachable' });
    expect(tunnels).toHaveLength(before);
  });
});

function failing(code: string): Promise<unknown> {
  const error = Object.assign(new Error(`${code}: something about /private/path`), { code });
  return changing('/data/bundles', () => Promise.reject(error)).catch((thrown: unknown) => thrown);
}

describe('what a person must fix (P2)', () => {
  it.each([
    ['ENOSPC', /the bundle store \/data\/bundles is on a disk that is full \(ENOSPC\): free some space/],
    ['EDQUOT', /the bundle store \/data\/bundles is on a disk that is full \(EDQUOT\): free some space/],
    ['SQLITE_FULL', /the bundle store \/data\/bundles is on a disk that is full \(SQLITE_FULL\): free some space/],
    ['EFBIG', /the bundle store \/data\/bundles is as long as a file may be here \(EFBIG\): raise the limit/],
    ['EROFS', /the bundle store \/data\/bundles is on a read-only file system \(EROFS\): mount it writable/],
    ['EXDEV', /lies on several file systems \(EXDEV\): put all of it on one/],
  ])('%s', async (code, words) => {
    const error = await failing(code);
    expect(error).toBeInstanceOf(StoreNotWritable);
    expect(error).toMatchObject({ message: expect.stringMatching(words) });
  });

  it('leaves other errors as they are', async () => {
    expect(await failing('EBUSY')).toMatchObject({ code: 'EBUSY', name: 'Error' });
  });
});
