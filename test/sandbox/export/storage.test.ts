import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { readRange } from '../../../sandbox/export/byte-range.ts';
import { linkMarker, type Sandbox, type SandboxOptions } from '../../../sandbox/index.ts';
import { exportSite, getBundle, sandboxWith } from '../support.ts';

const objectSize = 400_000;

interface Exported {
  sandbox: Sandbox;
  link: string;
  jobId: string;
  sizeBytes: number;
}

async function exportedWith(options: SandboxOptions = {}): Promise<Exported> {
  const sandbox = await sandboxWith({ padBytes: objectSize, ...options });
  const { bundleUrl, jobId, sizeBytes } = await exportSite(sandbox);
  return { sandbox, link: bundleUrl, jobId, sizeBytes };
}

function load(link: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  return fetch(link, { method, headers, redirect: 'manual' });
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

/** How many bytes come before a download breaks; null when it does not. */
async function brokenAfter(link: string, headers: Record<string, string> = {}): Promise<number | null> {
  let received = 0;
  try {
    for await (const chunk of (await load(link, headers)).body ?? []) received += chunk.length;
    return null;
  } catch {
    return received;
  }
}

describe('a presigned link', () => {
  it('gives the whole archive, without any credential', async () => {
    const { link } = await exportedWith();
    const response = await load(link);
    expect(response.status).toBe(200);
    expect(response.headers.get('etag')).toMatch(/^"[0-9a-f]{32}"$/);
    expect(response.headers.get('accept-ranges')).toBe('bytes');
    expect((await bytesOf(response)).length).toBe(Number(response.headers.get('content-length')));
  });

  it('carries what tests can search for', async () => {
    const { link, sandbox } = await exportedWith();
    const { searchParams } = new URL(link);
    expect(searchParams.get('X-Amz-Date')).toMatch(/^\d{8}T\d{6}Z$/);
    expect(searchParams.get('X-Amz-Expires')).toBe('300');
    const [signature, token] = sandbox.linkSecrets();
    expect(searchParams.get('X-Amz-Signature')).toBe(signature);
    expect(token).toContain(linkMarker);
    expect(JSON.stringify(sandbox.log())).not.toContain(signature);
    expect(JSON.stringify(sandbox.log())).not.toContain(linkMarker);
  });

  it('is refused together with Authorization', async () => {
    const { link, sandbox } = await exportedWith();
    const response = await load(link, { authorization: `Bearer ${sandbox.apiKey}` });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('<Code>InvalidArgument</Code>');
    expect(sandbox.log().at(-1)).toMatchObject({ kind: 'storage', hadAuthorization: true });
  });

  it.each([
    ['the path', (link: string) => link.replace('job_', 'job_0')],
    ['the expiry', (link: string) => link.replace('Expires=300', 'Expires=9999')],
    ['the signature', (link: string) => link.replace(/Signature=\w+/, `Signature=${'0'.repeat(64)}`)],
  ])('is refused when %s was changed', async (_what, change) => {
    const { link } = await exportedWith();
    const response = await load(change(link));
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('<Code>SignatureDoesNotMatch</Code>');
  });

  it('is refused without a signature, and for HEAD', async () => {
    const { link } = await exportedWith();
    expect((await load(link.split('?')[0] ?? '')).status).toBe(403);
    expect((await load(link, {}, 'HEAD')).status).toBe(403);
  });

  it('expires: a request that began goes on, the next is refused', async () => {
    const now = performance.now.bind(performance);
    let ahead = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
    const { link, sandbox, jobId } = await exportedWith({ storageRate: 800_000, padBytes: 600_000 });
    const response = await load(link);
    ahead = 301_000;
    const bytes = await bytesOf(response);
    expect(bytes.length).toBe(Number(response.headers.get('content-length')));
    const late = await load(link);
    expect(late.status).toBe(403);
    expect(late.headers.get('content-type')).toBe('application/xml');
    expect(await late.text()).toContain('<Code>AccessDenied</Code><Message>Request has expired</Message>');
    const { bundleUrl } = await getBundle(sandbox, jobId);
    expect((await load(bundleUrl, { range: 'bytes=0-0' })).status).toBe(206);
  });

  it("expires by the service's clock", async () => {
    const { link } = await exportedWith({ clockSkewMs: -7_200_000 });
    const stamp = new URL(link).searchParams.get('X-Amz-Date') ?? '';
    const issued = Date.parse(stamp.replace(/(....)(..)(..T..)(..)(..)/, '$1-$2-$3:$4:$5'));
    expect(issued).toBeLessThan(Date.now() - 7_100_000);
    expect((await load(link, { range: 'bytes=0-0' })).status).toBe(206);
  });
});

describe('ranges and conditions', () => {
  it('give the bytes asked for', async () => {
    const { link, sandbox } = await exportedWith();
    const whole = await bytesOf(await load(link));
    for (const [range, start, end] of [
      ['bytes=0-99', 0, 99],
      ['bytes=1000-', 1000, whole.length - 1],
      ['bytes=-50', whole.length - 50, whole.length - 1],
      [`bytes=5-${whole.length * 2}`, 5, whole.length - 1],
    ] as const) {
      const response = await load(link, { range });
      expect(response.status).toBe(206);
      expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end}/${whole.length}`);
      expect((await bytesOf(response)).equals(whole.subarray(start, end + 1))).toBe(true);
    }
    expect(sandbox.log().at(-1)).toMatchObject({
      status: 206,
      range: `bytes=5-${whole.length * 2}`,
      bytes: whole.length - 5,
    });
    expect(sandbox.stats().storage.whole).toEqual({ requests: 1, bytes: whole.length });
    expect(sandbox.stats().storage.ranged.requests).toBe(4);
  });

  it('beyond the end answer 416 with the size', async () => {
    const { link } = await exportedWith();
    const size = Number((await load(link)).headers.get('content-length'));
    const response = await load(link, { range: `bytes=${size}-` });
    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe(`bytes */${size}`);
  });

  it('honour If-Match and, like real stores, ignore If-Range', async () => {
    const { link } = await exportedWith();
    const etag = (await load(link)).headers.get('etag') ?? '';
    const range = 'bytes=0-9';
    expect((await load(link, { range, 'if-match': etag })).status).toBe(206);
    const refused = await load(link, { range, 'if-match': '"other"' });
    expect(refused.status).toBe(412);
    expect(await refused.text()).toContain('PreconditionFailed');
    expect((await load(link, { range, 'if-range': '"other"' })).status).toBe(206);
  });

  it.each([
    ['bytes=5-2', null],
    ['bytes=0-1,4-5', null],
    ['lines=0-1', null],
    ['bytes=-0', 'unsatisfiable'],
    [undefined, null],
  ] as const)('reads %s as %s', (header, expected) => {
    expect(readRange(header, 10)).toBe(expected);
  });
});

describe('storage faults', () => {
  it('resets again and again, so that a download goes on piece by piece', async () => {
    const { link, sandbox, sizeBytes } = await exportedWith({ faults: { storageResetEvery: 150_000 } });
    const pieces: number[] = [];
    let offset = 0;
    for (;;) {
      const received = await brokenAfter(link, { range: `bytes=${offset}-` });
      if (received === null) break;
      pieces.push(received);
      offset += received;
    }
    expect(pieces).toEqual([150_000, 150_000, 150_000]);
    expect(sandbox.log().at(-1)).toMatchObject({ status: 206, bytes: sizeBytes - 450_000 });
    expect(sandbox.log().at(-1)?.fault).toBeNull();
  });

  it('cuts a download as if it were complete', async () => {
    const { link } = await exportedWith({ faults: { storageCut: 1 } });
    const received = await brokenAfter(link);
    expect(received).toBeGreaterThan(objectSize / 2 - 1);
    expect(received).toBeLessThan(objectSize);
    expect(await brokenAfter(link)).toBeNull();
  });

  it('falls silent half-way until the client goes away', async () => {
    const { link } = await exportedWith({ faults: { storageStall: 1 } });
    const response = await load(link);
    const reader = response.body?.getReader();
    const half = Math.floor(Number(response.headers.get('content-length')) / 2);
    let received = 0;
    while (received < half) {
      const read = await reader?.read();
      expect(read?.done).toBe(false);
      received += read?.value?.length ?? 0;
    }
    expect(received).toBe(half);
    expect(await Promise.race([reader?.read(), sleep(500, 'silent')])).toBe('silent');
    await reader?.cancel();
    expect(await brokenAfter(link)).toBeNull();
  });

  it('ignores ranges', async () => {
    const { link } = await exportedWith({ faults: { storageIgnoreRange: true } });
    const response = await load(link, { range: 'bytes=10-20' });
    expect(response.status).toBe(200);
    expect((await bytesOf(response)).length).toBeGreaterThan(objectSize);
  });

  it('answers 503 as often as asked', async () => {
    const { link } = await exportedWith({ faults: { storageErrors: 1 } });
    const response = await load(link);
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('SlowDown');
    expect((await load(link)).status).toBe(200);
  });

  it('replaces the object in the middle of a download', async () => {
    const { link } = await exportedWith({ faults: { replaceObjectAfter: 100_000 } });
    const first = await load(link);
    await expect(first.arrayBuffer()).rejects.toThrow();
    const etag = first.headers.get('etag') ?? '';
    expect((await load(link, { range: 'bytes=100000-', 'if-match': etag })).status).toBe(412);
    const second = await load(link);
    expect(second.status).toBe(200);
    expect(second.headers.get('etag')).not.toBe(etag);
    expect((await bytesOf(second)).length).toBeGreaterThan(objectSize);
  });

  it('replaces the object when told to', async () => {
    const { link, sandbox, jobId } = await exportedWith();
    const before = await bytesOf(await load(link));
    await sandbox.replaceObject(jobId);
    expect((await bytesOf(await load(link))).equals(before)).toBe(false);
    await expect(sandbox.replaceObject('job_nope')).rejects.toThrow('no such object');
  });

  it('redirects elsewhere', async () => {
    const { link } = await exportedWith({ faults: { storageRedirect: 'http://127.0.0.1:1/elsewhere' } });
    const response = await load(link);
    expect(response.status).toBe(307);
    expect(response.headers.get('location')).toBe('http://127.0.0.1:1/elsewhere');
  });
});
