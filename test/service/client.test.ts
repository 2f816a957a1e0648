import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { BadRequest, MalformedResponse, Unauthorized } from '../../src/service/errors.ts';
import { apiKey, failureOf, json, serviceAt, serviceWith } from './http-server.ts';

const emptyPage = { feedback: [], nextCursor: null, hasMore: false };

describe('every operation', () => {
  it('sends the bearer key, accepts JSON and names itself; one request each', async () => {
    const { service, received } = await serviceWith(
      json({ ...emptyPage, jobId: 'j', status: 'queued', bundleUrl: 'https://store.example/b' }),
    );
    await service.getFeedbackPage('p', {});
    await service.startExportJob({ domain: 'docs.example' });
    await service.getExportJob('j');
    await service.createBundleLink('j');
    expect(received.map(({ method, url }) => `${method} ${url.pathname}`)).toEqual([
      'GET /v1/analytics/p/feedback',
      'POST /v1/static-export/jobs',
      'GET /v1/static-export/jobs/j',
      'POST /v1/static-export/jobs/j/bundle',
    ]);
    for (const { headers } of received) {
      expect(headers).toMatchObject({
        authorization: `Bearer ${apiKey}`,
        accept: 'application/json',
        'user-agent': 'docferry',
      });
    }
  });

  it('keeps the path of the base address, and takes analytics elsewhere when told', async () => {
    const analytics = await serviceWith(json(emptyPage));
    const { baseUrl, received } = await serviceWith(json({ jobId: 'j', status: 'queued' }));
    const service = serviceAt(`${baseUrl}/api/`, { analyticsBaseUrl: `${analytics.baseUrl}/stats` });
    await service.getExportJob('j');
    await service.getFeedbackPage('p', {});
    expect(received.map(({ url }) => url.pathname)).toEqual(['/api/v1/static-export/jobs/j']);
    expect(analytics.received.map(({ url }) => url.pathname)).toEqual(['/stats/v1/analytics/p/feedback']);
  });

  it('asks for the key each time, so that it may change', async () => {
    let key = 'first-key';
    const { service, received } = await serviceWith(json({ status: 'queued' }), { apiKey: () => key });
    await service.getExportJob('j');
    key = 'second-key';
    await service.getExportJob('j');
    expect(received.map(({ headers }) => headers.authorization)).toEqual(['Bearer first-key', 'Bearer second-key']);
  });

  it.each(['', 'two words', 'line\nbreak', 'schlüssel'])(
    'never sends the impossible key %j, and does not quote it',
    async (key) => {
      const { service, received } = await serviceWith(json({ status: 'queued' }), { apiKey: () => key });
      const error = await failureOf(service.getExportJob('j'));
      expect(error).toBeInstanceOf(Unauthorized);
      if (key !== '') expect(String(error)).not.toContain(key);
      expect(received).toEqual([]);
    },
  );

  it.each(['../x', 'a/b', '..\\x', '%2e%2e', 'a?b#c', 'ä ö', '...'])(
    'encodes the id %j into its one path segment',
    async (id) => {
      const { service, received } = await serviceWith(
        json({ ...emptyPage, status: 'queued', bundleUrl: 'https://s.example' }),
      );
      await service.getFeedbackPage(id, {});
      await service.getExportJob(id);
      await service.createBundleLink(id);
      const encoded = encodeURIComponent(id);
      expect(received.map(({ url }) => url.pathname)).toEqual([
        `/v1/analytics/${encoded}/feedback`,
        `/v1/static-export/jobs/${encoded}`,
        `/v1/static-export/jobs/${encoded}/bundle`,
      ]);
    },
  );

  it.each(['', '.', '..', '\ud800'])('never sends the id %j', async (id) => {
    const { service, received } = await serviceWith(json(emptyPage));
    expect(await failureOf(service.getFeedbackPage(id, {}))).toBeInstanceOf(BadRequest);
    expect(await failureOf(service.createBundleLink(id))).toBeInstanceOf(BadRequest);
    expect(received).toEqual([]);
  });

  it.each([
    'ftp://a.example',
    'nonsense',
    'https://u:p@a.example',
    'https://:p@a.example',
    'https://a.example?x=1',
    'http://a.example',
  ])('refuses the base address %s without quoting it', (baseUrl) => {
    expect(() => serviceAt(baseUrl)).toThrow(/^the base address must [^@]*$/);
  });

  it('permits http:// elsewhere only with allowInsecure', () => {
    expect(() => serviceAt('http://a.example', { allowInsecure: true })).not.toThrow();
    for (const host of ['localhost', '127.0.0.1:1', '[::1]']) expect(() => serviceAt(`http://${host}`)).not.toThrow();
  });
});

describe('get user feedback', () => {
  it('sends dateFrom, dateTo, source, status (comma-separated), limit and cursor', async () => {
    const { service, received } = await serviceWith(json(emptyPage));
    const query = {
      dateFrom: '2026-11-01',
      dateTo: '2026-11-21T00:00:00+01:00',
      source: 'agent',
      limit: 100,
      cursor: 'a+b/c=&d',
    };
    await service.getFeedbackPage('prj_1', { ...query, status: ['pending', 'in_progress'] });
    expect(Object.fromEntries(received[0]?.url.searchParams ?? [])).toEqual({
      ...query,
      limit: '100',
      status: 'pending,in_progress',
    });
  });

  it('sends nothing that was not asked for', async () => {
    const { service, received } = await serviceWith(json(emptyPage));
    await service.getFeedbackPage('prj_1', {});
    await service.getFeedbackPage('prj_1', { status: [] });
    for (const { url, body, headers } of received) {
      expect([url.search, body, headers['content-type']]).toEqual(['', '', undefined]);
    }
  });

  it.each([0, 101, 1.5, Number.NaN])('never asks for limit %d', async (limit) => {
    const { service, received } = await serviceWith(json(emptyPage));
    expect(await failureOf(service.getFeedbackPage('p', { limit }))).toBeInstanceOf(RangeError);
    expect(received).toEqual([]);
  });

  it('reads a page sent byte by byte, with a byte order mark', async () => {
    const { service } = await serviceWith((response) => {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
      const bytes = Buffer.from(`\ufeff${JSON.stringify({ ...emptyPage, nextCursor: 'ä😀' })}`);
      for (const byte of bytes) response.write(Buffer.from([byte]));
      response.end();
    });
    expect((await service.getFeedbackPage('p', {})).nextCursor).toBe('ä😀');
  });
});

describe('compressed answers', () => {
  it('are understood, and limited by what they unfold to', async () => {
    const page = gzipSync(JSON.stringify({ ...emptyPage, padding: 'x'.repeat(2_000_000) }));
    const { service } = await serviceWith((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(page);
    });
    expect(await service.getFeedbackPage('p', {})).toMatchObject({ entries: [] });
    expect(await failureOf(service.getExportJob('j'))).toMatchObject({
      message: expect.stringMatching(/longer than 1048576/),
    });
  });
});

describe('start static export job', () => {
  it('sends domain alone, or with version and paths, as JSON', async () => {
    const { service, received } = await serviceWith(json({ jobId: 'j' }, 202));
    await service.startExportJob({ domain: 'docs.example' });
    await service.startExportJob({ domain: 'docs.example', version: 'v2', paths: ['/a', '/b'] });
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([
      { domain: 'docs.example' },
      { domain: 'docs.example', version: 'v2', paths: ['/a', '/b'] },
    ]);
    expect(received[0]?.headers['content-type']).toBe('application/json');
  });

  it('needs no more than jobId in the answer', async () => {
    const { service } = await serviceWith(json({ jobId: 'job_1' }));
    expect(await service.startExportJob({ domain: 'd' })).toEqual({
      jobId: 'job_1',
      status: 'queued',
      state: 'running',
      percent: null,
      pageCount: null,
      error: null,
    });
  });

  it('reads the whole job object of a 202', async () => {
    const { service } = await serviceWith(
      json(
        { jobId: 'job_1', status: 'running', progress: 12, pageCount: 3, createdAt: 'x', updatedAt: 5, new: 1 },
        202,
      ),
    );
    expect(await service.startExportJob({ domain: 'd' })).toMatchObject({
      state: 'running',
      percent: 12,
      pageCount: 3,
    });
  });

  it.each([
    [7, '7'],
    [9007199254740991, '9007199254740991'],
  ])('reads the numeric jobId %s as text', async (jobId, expected) => {
    const { service } = await serviceWith(json({ jobId, status: 'queued' }));
    expect(await service.startExportJob({ domain: 'd' })).toMatchObject({ jobId: expected });
  });

  // A double has changed the last but one.
  it.each([{}, { jobId: null }, { jobId: 1.5 }, { jobId: 2 ** 53 }, { jobId: '' }])(
    'is malformed without a readable jobId: %j',
    async (answer) => {
      const { service } = await serviceWith(json(answer));
      expect(await failureOf(service.startExportJob({ domain: 'd' }))).toBeInstanceOf(MalformedResponse);
    },
  );
});

describe('get static export job status', () => {
  const statusOf = async (job: unknown) => (await serviceWith(json(job))).service.getExportJob('job_1');

  it('needs no more than status in the answer', async () => {
    expect(await statusOf({ status: 'running' })).toEqual({
      jobId: 'job_1',
      status: 'running',
      state: 'running',
      percent: null,
      pageCount: null,
      error: null,
    });
  });

  it.each([
    ['completed', 'completed'],
    ['failed', 'failed'],
    ['queued', 'running'],
    ['running', 'running'],
    ['paused-for-lunch', 'running'],
    ['COMPLETED', 'completed'],
    ['Completed ', 'completed'],
    ['Failed', 'failed'],
    ['incompleted', 'running'],
  ])('status %s means %s', async (status, state) => {
    expect(await statusOf({ status })).toMatchObject({ status: status.trim(), state });
  });

  it('reads progress and pageCount where it can', async () => {
    expect(await statusOf({ status: 'running', progress: '42/100', pageCount: '17' })).toMatchObject({
      percent: 42,
      pageCount: 17,
    });
    expect(await statusOf({ status: 'running', progress: [], pageCount: {} })).toMatchObject({
      percent: null,
      pageCount: null,
    });
    expect(await statusOf({ status: 'completed', progress: 1 })).toMatchObject({ percent: 100 });
  });

  it('gives the error of a failed job, cut and without links or keys', async () => {
    const error = `could not fetch https://store.example/x?sig=1 with ${apiKey} ${'word '.repeat(200)}`;
    const job = await statusOf({ status: 'failed', error });
    expect(job.error).toMatch(/^could not fetch \[removed\] with \[removed\] word/);
    expect(job.error).toHaveLength(500);
    expect(await statusOf({ status: 'running', error: 'x' })).toMatchObject({ error: null });
    expect(await statusOf({ status: 'failed', error: null })).toMatchObject({ error: null });
    expect(await statusOf({ status: 'failed', error: { code: 5 } })).toMatchObject({ state: 'failed', error: null });
    expect(await statusOf({ status: 'failed', error: { message: 'no such page' } })).toMatchObject({
      error: 'no such page',
    });
  });

  it.each([{}, { status: 1 }, [], 'running'])('is malformed without a readable status: %j', async (answer) => {
    expect(await failureOf(statusOf(answer))).toBeInstanceOf(MalformedResponse);
  });
});

describe('generate export bundle', () => {
  const linkOf = async (bundle: unknown) => (await serviceWith(json(bundle))).service.createBundleLink('job_1');

  it('sends no body and no content type', async () => {
    const { service, received } = await serviceWith(json({ bundleUrl: 'https://store.example/b' }));
    await service.createBundleLink('job_1');
    expect(received[0]).toMatchObject({ body: '', headers: { 'content-length': '0' } });
    expect(received[0]?.headers['content-type']).toBeUndefined();
  });

  it('needs no more than bundleUrl in the answer', async () => {
    const link = await linkOf({ bundleUrl: 'https://store.example/b.tar.gz?X-Sig=a%2Fb' });
    expect(link.url.href).toBe('https://store.example/b.tar.gz?X-Sig=a%2Fb');
    expect(link).toMatchObject({ sizeBytes: null, expiresAtMs: null });
  });

  it('takes a link that begins with a slash relative to the request', async () => {
    const { service, received } = await serviceWith(json({ bundleUrl: '/files/b.tar.gz?sig=1' }));
    const link = await service.createBundleLink('job_1');
    expect(link.url.href).toBe(`http://${received[0]?.headers.host}/files/b.tar.gz?sig=1`);
    expect((await linkOf({ bundleUrl: '//store.example/b' })).url.href).toBe('http://store.example/b');
  });

  it('reads sizeBytes and expiresAt where it can', async () => {
    const bundleUrl = 'https://store.example/b';
    const expiresAt = '2026-11-21T12:00:00Z';
    expect(await linkOf({ bundleUrl, sizeBytes: 1024, expiresAt })).toMatchObject({
      sizeBytes: 1024,
      expiresAtMs: Date.parse(expiresAt),
    });
    expect(await linkOf({ bundleUrl, sizeBytes: '1 KB', expiresAt: 'soon' })).toMatchObject({
      sizeBytes: null,
      expiresAtMs: null,
    });
    expect(await linkOf({ bundleUrl, sizeBytes: -1, expiresAt: 5 })).toMatchObject({
      sizeBytes: null,
      expiresAtMs: null,
    });
  });

  it('counts an expiresAt without a zone as UTC, wherever the worker runs', async () => {
    vi.stubEnv('TZ', 'America/New_York');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(new Date(0).getHours()).toBe(19);
    const link = await linkOf({ bundleUrl: 'https://store.example/b', expiresAt: '2026-11-21T12:00:00' });
    expect(link.expiresAtMs).toBe(Date.UTC(2026, 10, 21, 12));
  });

  it.each([{}, { bundleUrl: null }, { bundleUrl: 'store/SECRET' }, { bundleUrl: 'file:///etc/SECRET' }])(
    'is malformed without an http(s) bundleUrl, and does not quote it: %j',
    async (bundle) => {
      const error = await failureOf(linkOf(bundle));
      expect(error).toBeInstanceOf(MalformedResponse);
      expect(String(error)).not.toContain('SECRET');
    },
  );
});
