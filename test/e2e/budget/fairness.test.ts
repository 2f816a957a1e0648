import { afterEach, describe, expect, it } from 'vitest';
import { budgetView } from '../../../src/budget/client.ts';
import { startSync, syncHandle, syncState } from '../../../src/operations/syncs.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const analytics = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics');

describe('fairness (B3)', () => {
  it('interleaves two syncs page by page while the window is full', async () => {
    const organization = {
      id: 'acme',
      domains: ['docs.acme.example'],
      projects: [
        { id: 'prj_1', entries: 8_000 },
        { id: 'prj_2', entries: 300 },
      ],
    };
    scene = await setScene({
      sandbox: { organizations: [organization], requests: 20, windowMs: 20_000 },
      budget: '{ requests: 20, window: 20s, arrival: 2s }',
      projects: ['prj_2'],
    });
    await scene.startWorker();
    const { client, taskQueue, org } = scene;
    const large = { org, project: 'prj_1', pass: 'sweep' as const };
    const small = { org, project: 'prj_2', pass: 'sweep' as const };
    await startSync(client, taskQueue, large);
    await expect.poll(() => syncState(client, large)).toMatchObject({ phase: 'waiting-for-budget' });

    const sent = analytics().length;
    const handle = await startSync(client, taskQueue, small);
    await expect
      .poll(() => budgetView(client, org).then(({ waiters }) => waiters.map((waiter) => waiter.workflowId).sort()))
      .toEqual([`sync:${org}:prj_1:sweep`, `sync:${org}:prj_2:sweep`]);
    const result = await handle.result();
    expect(result).toMatchObject({ pages: 3, entries: { seen: 300 } });
    expect(result.waitedMs).toBeGreaterThan(0);

    const after = analytics().slice(sent);
    const last = after.findLastIndex(({ projectId }) => projectId === 'prj_2');
    // It came last, and the slots of one window were enough for it: the large one did not take them all.
    expect(last).toBeLessThan(20);
    await syncHandle(client, large).cancel();
    await expect(syncHandle(client, large).result()).rejects.toThrow();
    expect(analytics().filter(({ status }) => status === 429)).toEqual([]);
  });
});
