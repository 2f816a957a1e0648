import { createHook } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limitMachineUse as limitFromSources } from '../../../src/exports/semaphore.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';
import { verifyInThread as fromSources } from '../../../src/exports/verify/verify-in-thread.ts';
import { type Item, smallSite, tar, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const someLimits = { maxBytes: 500_000_000, maxFiles: 100, maxRatio: 10_000 };
/** `npm test` builds first; only the built file starts a thread. */
const built = new URL('../../../dist/src/exports/verify/verify-in-thread.js', import.meta.url);

const limitsBuilt = new URL('../../../dist/src/exports/semaphore.js', import.meta.url);

/** Counts the threads started from now on. */
function countThreads(): { started(): number } {
  let started = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'WORKER') started += 1;
    },
  }).enable();
  onTestFinished(() => void hook.disable());
  return { started: () => started };
}

async function fileOf(bytes: Buffer): Promise<string> {
  const file = join(await tempFolder(), 'archive');
  await writeFile(file, bytes);
  return file;
}

/** Unpacks to 300 MB: long enough to meet it at work. */
const large = () => gzipSync(tar([...smallSite, { name: 'big', content: Buffer.alloc(300_000_000) }]), { level: 1 });

describe('verifyInThread, from the sources', () => {
  it('gives the report of verifyArchive', async () => {
    const file = await fileOf(tarGz(smallSite));
    expect(await fromSources(file, { limits: someLimits })).toEqual(await verifyArchive(file, { limits: someLimits }));
  });
});

describe.skipIf(!existsSync(built))('verifyInThread, built', async () => {
  const verifyInThread: typeof fromSources = existsSync(built)
    ? (await import(built.href)).verifyInThread
    : fromSources;

  it('gives the report of verifyArchive, also for what it refuses', async () => {
    for (const bytes of [tarGz(smallSite), Buffer.from('<html>'), tarGz([{ name: '../x' }])]) {
      const file = await fileOf(bytes);
      expect(await verifyInThread(file, { limits: someLimits })).toEqual(
        await verifyArchive(file, { limits: someLimits }),
      );
    }
  });

  it('leaves this thread free and tells its progress', async () => {
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 5);
    const progress: number[] = [];
    const options = { limits: someLimits, onProgress: ({ bytes }: { bytes: number }) => void progress.push(bytes) };
    const report = await verifyInThread(await fileOf(large()), options);
    clearInterval(counting);
    expect(report.ok).toBe(true);
    expect(turns).toBeGreaterThan(10);
    expect(progress.length).toBeGreaterThan(0);
  });

  it('ends at once when aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const options = { limits: someLimits, signal: controller.signal, onProgress: () => controller.abort(reason) };
    await expect(verifyInThread(await fileOf(large()), options)).rejects.toBe(reason);
    await expect(verifyInThread('/nowhere', options)).rejects.toBe(reason);
  });

  it('reports a time limit, and throws for a file that is not there', async () => {
    const report = await verifyInThread(await fileOf(tarGz(smallSite)), { limits: someLimits, timeLimitMs: 0 });
    expect(report.reasons).toMatchObject([{ rule: 'time-limit' }]);
    await expect(verifyInThread('/nowhere', { limits: someLimits })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  describe('with a second thread, for a zip of 40 MB', () => {
    const pages = Array.from({ length: 400 }, (_, n) => ({ name: `p/${n}.html`, content: `<a href="${n + 1}">x</a>` }));
    const files = Array.from({ length: 40 }, (_, n) => ({ name: `f/${n}.png`, content: randomBytes(1_000_000) }));
    const limits = { ...someLimits, maxFiles: 1000 };
    const site: Item[] = [...smallSite, ...pages.slice(0, 200), ...files, ...pages.slice(200)];

    it('gives the same report, links between the parts included', async () => {
      const file = await fileOf(zip(site));
      const report = await verifyInThread(file, { limits });
      expect(report).toEqual(await verifyArchive(file, { limits }));
      expect(report).toMatchObject({ ok: true, files: 443, warnings: [{ rule: 'broken-link', path: 'p/399.html' }] });
    });

    it('says the same of what is damaged in either part, and of names in both', async () => {
      const name = { name: '../x' };
      for (const broken of [
        zip([...smallSite, { name: 'a', content: 'a', crc: 1 }, ...site.slice(3)]),
        zip([...site, { name: 'a', content: 'a', crc: 1 }]),
        zip([name, ...site, name]),
        zip([...site, { ...name, name: 'INDEX.html' }]),
      ]) {
        const file = await fileOf(broken);
        const report = await verifyInThread(file, { limits });
        expect(report.ok).toBe(false);
        expect(report).toMatchObject({ reasons: (await verifyArchive(file, { limits })).reasons });
      }
    });
  });

  const tooMany = () => tarGz(Array.from({ length: 30_000 }, (_, n) => ({ name: `folder/${n}/index.html` })));
  const tooManyLimits = { ...someLimits, maxFiles: 100_000 };

  it('is ended when it needs too much memory', async () => {
    const report = await verifyInThread(await fileOf(tooMany()), { limits: tooManyLimits }, 12);
    expect(report.reasons).toMatchObject([{ rule: 'memory-limit' }]);
  });

  describe('with threads that are kept', async () => {
    const limitMachineUse: typeof limitFromSources = existsSync(built)
      ? (await import(limitsBuilt.href)).limitMachineUse
      : limitFromSources;
    const limits = { limits: someLimits };

    it('reads one archive after the other in as many threads as allowed, in flat memory', async () => {
      limitMachineUse({ verifications: 2, browsers: null });
      const file = await fileOf(tarGz(smallSite));
      const threads = countThreads();
      const read = (archives: number) =>
        Promise.all(
          Array.from({ length: archives }, async () => expect((await verifyInThread(file, limits)).ok).toBe(true)),
        );
      await read(100);
      const before = process.memoryUsage().rss;
      await read(600);
      const grownMb = (process.memoryUsage().rss - before) / 1024 ** 2;
      expect(threads.started()).toBeLessThanOrEqual(2);
      expect(grownMb).toBeLessThan(50);
    });

    it('loses a thread without losing another archive than its own', async () => {
      limitMachineUse({ verifications: 3, browsers: null });
      const [good, bad, slow] = [await fileOf(tarGz(smallSite)), await fileOf(tooMany()), await fileOf(large())];
      const cancelled = new AbortController();
      const reason = new Error('cancelled');
      const [whole, refused, aborted, ...others] = await Promise.all([
        verifyInThread(slow, limits),
        verifyInThread(bad, { limits: tooManyLimits }, 12),
        verifyInThread(slow, {
          ...limits,
          signal: cancelled.signal,
          onProgress: () => cancelled.abort(reason),
        }).catch((error: unknown) => error),
        ...Array.from({ length: 10 }, () => verifyInThread(good, limits)),
      ]);
      expect(whole.ok).toBe(true);
      expect(refused.reasons).toMatchObject([{ rule: 'memory-limit' }]);
      expect(aborted).toBe(reason);
      expect(others.map(({ ok }) => ok)).toEqual(Array(10).fill(true));
    });

    it('lets one that waits for a thread leave', async () => {
      limitMachineUse({ verifications: 1, browsers: null });
      const working = verifyInThread(await fileOf(large()), limits);
      const reason = new Error('cancelled');
      const leaving = new AbortController();
      const waiting = verifyInThread(await fileOf(tarGz(smallSite)), { ...limits, signal: leaving.signal });
      setTimeout(() => leaving.abort(reason), 20);
      await expect(waiting).rejects.toBe(reason);
      expect((await working).ok).toBe(true);
    });
  });
});
