import { describe, expect, it } from 'vitest';
import { SandboxControl } from '../../bench/sandbox-control.ts';
import { get, getFeedback, sandboxWith } from '../sandbox/support.ts';

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

  it.each([0, 1, 120])('is the id of each of its %i entries', async (entries) => {
    const sandbox = await sandboxWith({ entries });
    const ids: string[] = [];
    for await (const id of new SandboxControl(sandbox.url).truthOf('prj_1')) ids.push(id);
    expect(ids).toEqual([...sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id));
    expect(ids).toHaveLength(entries);
  });

  it('is an error when there is no such project', async () => {
    const sandbox = await sandboxWith();
    const ids = new SandboxControl(sandbox.url).truthOf('prj_9');
    await expect(ids.next()).rejects.toThrow('the sandbox answered 404');
  });
});
