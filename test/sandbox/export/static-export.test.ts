import { describe, expect, it } from 'vitest';
import {
  exportSite,
  getBundle,
  getJob,
  jsonOf,
  post,
  sandboxWith,
  startedJob,
  startJob,
  waitForJob,
} from '../support.ts';

describe('starting a job', () => {
  it('answers 202 with the whole job', async () => {
    const sandbox = await sandboxWith({ jobSeconds: 60 });
    const response = await startJob(sandbox);
    expect(response.status).toBe(202);
    const job = await jsonOf(response);
    expect(job).toEqual({
      jobId: expect.stringMatching(/^job_/),
      status: 'queued',
      progress: 0,
      pageCount: 0,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: expect.any(String),
    });
    expect(sandbox.stats()).toMatchObject({ jobsStarted: 1, jobIds: [job.jobId] });
  });

  it.each([
    {},
    { domain: 5 },
    { domain: 'https://docs.acme.example' },
    { domain: 'docs.acme.example/' },
    { domain: 'docs.acme.example/guides' },
    { domain: '' },
    { domain: 'docs.acme.example', version: 3 },
    { domain: 'docs.acme.example', paths: 'all' },
    { domain: 'docs.acme.example', paths: ['/no/such/page'] },
    [],
  ])('refuses the body %j with 400', async (body) => {
    const sandbox = await sandboxWith();
    const response = await post(sandbox, '/v1/static-export/jobs', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.any(String) });
    expect(sandbox.stats().jobsStarted).toBe(0);
  });

  it('needs JSON and the header that says so', async () => {
    const sandbox = await sandboxWith();
    const send = (contentType: string, body: string) =>
      fetch(`${sandbox.url}/v1/static-export/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': contentType },
        body,
      });
    expect((await send('text/plain', '{"domain":"docs.acme.example"}')).status).toBe(400);
    expect((await send('application/json', '{"domain"')).status).toBe(400);
    expect((await send('application/json; charset=utf-8', '{"domain":"DOCS.acme.example"}')).status).toBe(202);
  });

  it('needs a key, the plan and a known domain', async () => {
    const sandbox = await sandboxWith({
      organizations: [
        { id: 'basic', plan: 'basic', domains: ['docs.basic.example'] },
        { id: 'rich', apiKey: 'dk_admin_rich', domains: ['docs.rich.example'] },
      ],
    });
    const start = (key: string, domain: string) =>
      fetch(`${sandbox.url}/v1/static-export/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ domain }),
      }).then(({ status }) => status);
    expect(await start('dk_admin_wrong', 'docs.rich.example')).toBe(401);
    expect(await start(sandbox.apiKey, 'docs.basic.example')).toBe(403);
    expect(await start('dk_admin_rich', 'docs.basic.example')).toBe(404);
    expect(await start('dk_admin_rich', 'docs.rich.example')).toBe(202);
  });
});

describe('a job', () => {
  it('is queued, runs with growing progress, and completes', async () => {
    const sandbox = await sandboxWith({ jobSeconds: 0.8, pages: 40 });
    const seen = [await jsonOf(await startJob(sandbox))];
    do seen.push(await getJob(sandbox, String(seen[0]?.jobId)));
    while (seen.at(-1)?.status !== 'completed');
    expect([...new Set(seen.map(({ status }) => status))]).toEqual(['queued', 'running', 'completed']);
    const progress = seen.map((job) => Number(job.progress));
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(seen.some((job) => job.status === 'running' && Number(job.progress) > 0 && Number(job.pageCount) > 0)).toBe(
      true,
    );
    expect(seen.at(-1)).toMatchObject({ progress: 100, pageCount: 40 });
  });

  it('is unknown to others and under another id', async () => {
    const sandbox = await sandboxWith({
      organizations: [
        { id: 'acme', domains: ['docs.acme.example'] },
        { id: 'other', apiKey: 'dk_admin_other' },
      ],
    });
    const jobId = await startedJob(sandbox);
    const status = async (id: string, key: string) =>
      (await fetch(`${sandbox.url}/v1/static-export/jobs/${id}`, { headers: { authorization: `Bearer ${key}` } }))
        .status;
    expect(await status(jobId, sandbox.apiKey)).toBe(200);
    expect(await status(jobId, 'dk_admin_other')).toBe(404);
    expect(await status('job_nope', sandbox.apiKey)).toBe(404);
  });
});

describe('a bundle', () => {
  it('is refused with 409 until the job has completed', async () => {
    const sandbox = await sandboxWith({ jobSeconds: 60 });
    const jobId = await startedJob(sandbox);
    expect((await post(sandbox, `/v1/static-export/jobs/${jobId}/bundle`)).status).toBe(409);
    expect((await post(sandbox, '/v1/static-export/jobs/job_nope/bundle')).status).toBe(404);
  });

  it('has a new link every time', async () => {
    const sandbox = await sandboxWith();
    const first = await exportSite(sandbox);
    const second = await getBundle(sandbox, first.jobId);
    expect(first).toEqual({
      jobId: first.jobId,
      bundleUrl: expect.stringContaining(sandbox.storageUrl),
      sizeBytes: expect.any(Number),
      expiresAt: expect.any(String),
    });
    expect(first.bundleUrl).not.toBe(second.bundleUrl);
    expect(sandbox.stats().linksIssued).toBe(2);
    expect(sandbox.linkSecrets()).toContain(new URL(second.bundleUrl).searchParams.get('X-Amz-Signature'));
  });
});

describe('export faults', () => {
  it('fails, loses and holds up the next jobs', async () => {
    const sandbox = await sandboxWith({ jobSeconds: 0.1, faults: { failJobs: 1, vanishJobs: 1, stuckJobs: 1 } });
    const start = () => startedJob(sandbox);
    const [failing, vanishing, stuck, good] = [await start(), await start(), await start(), await start()];
    const failed = await waitForJob(sandbox, failing, 'failed');
    expect(failed.error).toContain('https://');
    await waitForJob(sandbox, good, 'completed');
    expect(await getJob(sandbox, vanishing)).toEqual({ error: 'There is no such job' });
    expect(await getJob(sandbox, stuck)).toMatchObject({ status: 'running', progress: 40 });
    expect((await post(sandbox, `/v1/static-export/jobs/${failing}/bundle`)).status).toBe(409);
  });

  it('refuses a start without a job, and loses the answer of a start with one', async () => {
    const sandbox = await sandboxWith({ faults: { startErrors: 1, jobStartResets: 1 } });
    expect((await startJob(sandbox)).status).toBe(503);
    expect(sandbox.stats().jobsStarted).toBe(0);
    await expect(startJob(sandbox)).rejects.toThrow();
    expect(sandbox.stats().jobsStarted).toBe(1);
    expect((await startJob(sandbox)).status).toBe(202);
  });

  it('answers 503 to the next status and bundle requests', async () => {
    const sandbox = await sandboxWith();
    const { jobId } = await exportSite(sandbox);
    sandbox.setFaults({ exportErrors: 2 });
    expect(await getJob(sandbox, jobId)).toEqual({ error: expect.any(String) });
    expect((await post(sandbox, `/v1/static-export/jobs/${jobId}/bundle`)).status).toBe(503);
    expect(await getJob(sandbox, jobId)).toMatchObject({ status: 'completed' });
  });

  it.each([
    ['number', 40],
    ['percent-text', '40%'],
    ['fraction', 0.4],
    ['object', { done: 8, total: 20 }],
    ['absent', undefined],
  ] as const)('writes progress as %s', async (progressShape, progress) => {
    const sandbox = await sandboxWith({ jobSeconds: 0.02, faults: { stuckJobs: 1, progressShape } });
    const jobId = await startedJob(sandbox);
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect((await getJob(sandbox, jobId)).progress).toEqual(progress);
  });

  it('uses words for states that nobody knows', async () => {
    const sandbox = await sandboxWith({ jobSeconds: 0.02, faults: { stuckJobs: 1, statusWords: true } });
    const { jobId, status } = await jsonOf<{ jobId: string; status: string }>(await startJob(sandbox));
    expect(status).toBe('waiting');
    await waitForJob(sandbox, jobId, 'rendering');
  });

  it('sends no more than the contract names', async () => {
    const sandbox = await sandboxWith({ jobSeconds: 0.02, faults: { stuckJobs: 1, missingFields: true } });
    const stuck = await jsonOf<{ jobId: string }>(await startJob(sandbox));
    expect(Object.keys(stuck)).toEqual(['jobId']);
    expect(Object.keys(await waitForJob(sandbox, stuck.jobId, 'running'))).toEqual(['status', 'progress', 'pageCount']);
    const jobId = await startedJob(sandbox);
    expect(Object.keys(await waitForJob(sandbox, jobId, 'completed'))).toEqual(['status']);
    expect(Object.keys(await getBundle(sandbox, jobId))).toEqual(['bundleUrl']);
  });
});
