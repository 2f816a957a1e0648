import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { verifyArchive } from '../../src/bundle/verify-archive.ts';
import { verifyInThread as fromSources } from '../../src/bundle/verify-in-thread.ts';
import { SITE, tar, tarGz } from './build-archive.ts';
import { tempFolder } from './temp-folder.ts';

const LIMITS = { maxBytes: 500_000_000, maxFiles: 100, maxRatio: 10_000 };
/** `npm test` builds first; only the built file starts a thread. */
const BUILT = new URL('../../dist/src/bundle/verify-in-thread.js', import.meta.url);

async function fileOf(bytes: Buffer): Promise<string> {
  const file = join(await tempFolder(), 'archive');
  await writeFile(file, bytes);
  return file;
}

/** Unpacks to 300 MB: long enough to meet it at work. */
const large = () => gzipSync(tar([...SITE, { name: 'big', content: Buffer.alloc(300_000_000) }]), { level: 1 });

describe('verifyInThread, from the sources', () => {
  it('gives the report of verifyArchive', async () => {
    const file = await fileOf(tarGz(SITE));
    expect(await fromSources(file, { limits: LIMITS })).toEqual(await verifyArchive(file, { limits: LIMITS }));
  });
});

describe.skipIf(!existsSync(BUILT))('verifyInThread, built', async () => {
  const verifyInThread: typeof fromSources = existsSync(BUILT)
    ? (await import(BUILT.href)).verifyInThread
    : fromSources;

  it('gives the report of verifyArchive, also for what it refuses', async () => {
    for (const bytes of [tarGz(SITE), Buffer.from('<html>'), tarGz([{ name: '../x' }])]) {
      const file = await fileOf(bytes);
      expect(await verifyInThread(file, { limits: LIMITS })).toEqual(await verifyArchive(file, { limits: LIMITS }));
    }
  });

  it('leaves this thread free and tells its progress', async () => {
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 5);
    const progress: number[] = [];
    const options = { limits: LIMITS, onProgress: ({ bytes }: { bytes: number }) => void progress.push(bytes) };
    const report = await verifyInThread(await fileOf(large()), options);
    clearInterval(counting);
    expect(report.ok).toBe(true);
    expect(turns).toBeGreaterThan(10);
    expect(progress.length).toBeGreaterThan(0);
  });

  it('ends at once when aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const options = { limits: LIMITS, signal: controller.signal, onProgress: () => controller.abort(reason) };
    await expect(verifyInThread(await fileOf(large()), options)).rejects.toBe(reason);
    await expect(verifyInThread('/nowhere', options)).rejects.toBe(reason);
  });

  it('reports a time limit, and throws for a file that is not there', async () => {
    const report = await verifyInThread(await fileOf(tarGz(SITE)), { limits: LIMITS, timeLimitMs: 0 });
    expect(report.reasons).toMatchObject([{ rule: 'time-limit' }]);
    await expect(verifyInThread('/nowhere', { limits: LIMITS })).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
