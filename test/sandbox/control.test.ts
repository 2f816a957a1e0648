import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { type LogEntry, type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { RequestLog } from '../../sandbox/request-log.ts';
import { exportSite, get, getAll, getFeedback, jsonOf, sandboxWith } from './support.ts';

function ask(sandbox: Sandbox, name: string): Promise<Response> {
  return fetch(`${sandbox.controlUrl}/${name}`);
}

function order(sandbox: Sandbox, name: string, body: unknown): Promise<Response> {
  return fetch(`${sandbox.controlUrl}/${name}`, { method: 'POST', body: JSON.stringify(body) });
}

describe('/control', () => {
  it('sets faults and shows what is left of them', async () => {
    const sandbox = await sandboxWith();
    expect((await order(sandbox, 'faults', { errors: 2, progressShape: 'fraction' })).status).toBe(200);
    expect((await getFeedback(sandbox)).status).toBe(500);
    expect(await (await ask(sandbox, 'faults')).json()).toMatchObject({ errors: 1, progressShape: 'fraction' });
  });

  it.each([
    ['faults', { errors: -1 }, 'errors'],
    ['faults', { nonsense: true }, 'nonsense'],
    ['faults', [], 'JSON object'],
    ['entries/add', { count: 1 }, 'project'],
    ['entries/delete', { project: 'prj_1', ids: ['fb_nope'] }, 'fb_nope'],
    ['revision', { domain: 'nope.example' }, 'nope.example'],
  ])('refuses %s %j, naming %s', async (name, body, named) => {
    const response = await order(await sandboxWith(), name, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.stringContaining(named) });
  });

  it('adds, changes and deletes feedback, and shows the truth', async () => {
    const sandbox = await sandboxWith({ entries: 2, nullDates: 0 });
    const { ids } = await jsonOf<{ ids: string[] }>(
      await order(sandbox, 'entries/add', { project: 'prj_1', count: 3, status: 'pending' }),
    );
    expect(ids).toHaveLength(3);
    await order(sandbox, 'entries/change', { project: 'prj_1', changes: [{ id: ids[0], status: 'resolved' }] });
    await order(sandbox, 'entries/delete', { project: 'prj_1', ids: [ids[1]] });
    const truth = await jsonOf<{ id: string; status: string }[]>(await ask(sandbox, 'truth?project=prj_1'));
    expect(truth).toHaveLength(4);
    expect(truth.find(({ id }) => id === ids[0])?.status).toBe('resolved');
    expect(truth.toReversed()).toEqual(await getAll(sandbox));
    expect((await ask(sandbox, 'truth?project=nope')).status).toBe(404);
  });

  it('publishes revisions, replaces objects and shows the secrets of links', async () => {
    const sandbox = await sandboxWith();
    expect(await (await order(sandbox, 'revision', { domain: 'docs.acme.example' })).json()).toEqual({ revision: 1 });
    const { bundleUrl, jobId } = await exportSite(sandbox);
    const etag = (await fetch(bundleUrl)).headers.get('etag');
    expect((await order(sandbox, 'replace', { jobId })).status).toBe(200);
    expect((await fetch(bundleUrl)).headers.get('etag')).not.toBe(etag);
    expect(await (await ask(sandbox, 'links')).json()).toEqual(sandbox.linkSecrets());
  });

  it('shows log and statistics, in which it does not appear itself', async () => {
    const sandbox = await sandboxWith();
    await getFeedback(sandbox, { limit: 1 });
    await exportSite(sandbox);
    const log = await jsonOf<LogEntry[]>(await ask(sandbox, 'log'));
    expect(log).toEqual(sandbox.log());
    expect(log[0]).toEqual({
      at: expect.any(Number),
      atMono: expect.any(Number),
      port: 'api',
      kind: 'analytics',
      org: 'acme',
      method: 'GET',
      path: '/v1/analytics/prj_1/feedback',
      status: 200,
      counted: true,
      bytes: expect.any(Number),
      range: null,
      projectId: 'prj_1',
      hadAuthorization: true,
      fault: null,
    });
    expect(log[0]?.bytes).toBeGreaterThan(100);
    expect(log.filter(({ kind }) => kind === 'other')).toEqual([]);
    expect(await (await ask(sandbox, 'stats')).json()).toMatchObject({
      requests: { analytics: 1, storage: 0, other: 0 },
      organizations: { acme: { analyticsRequests: 1, throttled: 0, maxInAnyWindow: 1 } },
      jobsStarted: 1,
      linksIssued: 1,
    });
  });

  it('knows nothing else', async () => {
    const sandbox = await sandboxWith();
    expect((await ask(sandbox, 'secrets')).status).toBe(404);
    expect((await order(sandbox, 'explode', {})).status).toBe(404);
  });
});

describe('the log', () => {
  it('holds no query, key or link', async () => {
    const sandbox = await sandboxWith();
    await getFeedback(sandbox, { source: 'agent' });
    await get(sandbox, '/elsewhere?secret=planted-query');
    const text = JSON.stringify(sandbox.log());
    expect(text).not.toContain('source=agent');
    expect(text).not.toContain('planted-query');
    expect(text).not.toContain(sandbox.apiKey);
  });

  it('holds the latest 250,000 requests at least, and says what it forgot', () => {
    const log = new RequestLog();
    const request = { port: 'api', kind: 'other', org: null, method: 'GET', path: '/', status: null } as const;
    const facts = { counted: false, bytes: 0, range: null, projectId: null, hadAuthorization: false, fault: null };
    const early: LogEntry = { at: 0, atMono: 0, ...request, ...facts };
    for (let count = 0; count < 300_000; count++) log.add(early);
    log.add({ ...early, at: 300_000 });
    expect(log.forgotten).toBe(50_000);
    expect(log.entries.length).toBe(250_001);
    expect(log.entries.at(-1)?.at).toBe(300_000);
  });
});

describe('a sandbox', () => {
  it('says which port is taken, and leaves nothing behind when it stops', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sandbox-test-'));
    vi.stubEnv('TMPDIR', folder);
    try {
      const first = await startSandbox({ entries: 10, jobSeconds: 0 });
      await exportSite(first);
      const port = Number(new URL(first.url).port);
      await expect(startSandbox({ port })).rejects.toThrow(`127.0.0.1:${port}: the port is taken`);
      await first.stop();
      expect(await readdir(folder)).toEqual([]);
      await expect(fetch(first.url)).rejects.toThrow();
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
