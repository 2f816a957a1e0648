import { describe, expect, it } from 'vitest';
import { SandboxControl } from '../../../bench/budget/sandbox-control.ts';
import type { StatusEntry } from '../../../bench/status/status-changes.ts';
import { get, getFeedback, sandboxWith } from '../../sandbox/support.ts';

describe('what a sandbox in another process tells', () => {
  it('is its log of analytics requests, in the order of their arrival', async () => {
    const sandbox = await sandboxWith({ requests: 2 });
    await getFeedback(sandbox);
    await get(sandbox, '/v1/analytics/prj_1/views');
    await get(sandbox, '/v1/static-export/jobs/none');
    await getFeedback(sandbox);
    const log = await new SandboxControl(sandbox.url).log();
    expect(log.map(({ path, status }) => [path, status])).toEqual([
      ['/v1/analytics/prj_1/feedback', 200],
      ['/v1/analytics/prj_1/views', 200],
      ['/v1/analytics/prj_1/feedback', 429],
    ]);
  });

  it.each([0, 1, 120])('is each of its %i entries', async (entries) => {
    const sandbox = await sandboxWith({ entries });
    const told: unknown[] = [];
    for await (const entry of new SandboxControl(sandbox.url).truthOf('prj_1')) told.push(entry);
    const truth = [...sandbox.truth('prj_1')] as StatusEntry[];
    expect(told).toEqual(truth.map(({ id, status, createdAt }) => ({ id, status, createdAt })));
    expect(told).toHaveLength(entries);
  });

  it('is what was changed and added through it', async () => {
    const sandbox = await sandboxWith({ entries: 3 });
    const control = new SandboxControl(sandbox.url);
    const [first] = [...sandbox.truth('prj_1')] as StatusEntry[];
    await control.changeEntries('prj_1', [{ id: first?.id ?? '', status: 'dismissed' }]);
    const added = await control.addEntries('prj_1', 2);
    const truth = new Map(([...sandbox.truth('prj_1')] as StatusEntry[]).map(({ id, status }) => [id, status]));
    expect(truth.get(first?.id ?? '')).toBe('dismissed');
    expect([...truth.keys()]).toEqual(expect.arrayContaining(added));
    expect(truth.size).toBe(5);
    await expect(control.changeEntries('prj_1', [{ id: 'none', status: 'pending' }])).rejects.toThrow('answered 400');
  });

  it('is an error when there is no such project', async () => {
    const sandbox = await sandboxWith();
    const ids = new SandboxControl(sandbox.url).truthOf('prj_9');
    await expect(ids.next()).rejects.toThrow('the sandbox answered 404');
  });
});
