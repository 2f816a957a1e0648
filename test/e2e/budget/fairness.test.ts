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
  it('gives an on-demand sync the next free slots while a long sweep goes on', async () => {
    const organization = {
      id: 'acme',
      domains: ['docs.acme.example'],
      projects: [
        { id: 'prj_1', entries: 8_000 },
        { id: 'prj_2', entries: 300 },
      ],
    };
    scene = await setScene({
      sandbox: { organizations: [organization], requests: 20, windowMs: 6_000 },
      budget: '{ requests: 20, window: 6s, arrival: 2s }',
      projects: ['prj_2'],
    });
    await scene.startWorker();
    const { client, taskQueue, org } = scene;
    const sweep = { org, project: 'prj_1', pass: 'sweep' as const };
    const small = { org, project: 'prj_2', pass: 'sweep' as const };
    await startSync(client, taskQueue, { ...sweep });
    await expect.poll(() => syncState(client, sweep)).toMatchObject({ phase: 'waiting-for-budget' });

    const sent = analytics().length;
    const handle = await startSync(client, taskQueue, { ...small });
    await expect
      .poll(() => budgetView(client, org).then(({ waiters }) => waiters.map((waiter) => waiter.class).sort()))
      .toEqual(['on-demand', 'sweep']);
    // It came last and goes first.
    await expect.poll(() => syncState(client, small)).toMatchObject({ waiting: { place: 1, behind: [] } });
    const result = await handle.result();
    expect(result).toMatchObject({ pages: 3, entries: { seen: 300 } });
    expect(result.waitedMs).toBeGreaterThan(0);

    const after = analytics().slice(sent);
    const last = after.findLastIndex(({ projectId }) => projectId === 'prj_2');
    // The slots of one window were enough for it: the sweep got what it did not want.
    expect(last).toBeLessThan(20);
    await syncHandle(client, sweep).cancel();
    await expect(syncHandle(client, sweep).result()).rejects.toThrow();
    expect(analytics().filter(({ status }) => status === 429)).toEqual([]);
  });
});
