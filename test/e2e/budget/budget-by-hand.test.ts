import { afterEach, describe, expect, it } from 'vitest';
import { budgetView } from '../../../src/budget/client.ts';
import { startSync, syncState } from '../../../src/operations/syncs.ts';
import { docferryJson } from '../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const cli = () => ['--config', scene.configFile];
const analytics = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics').length;

describe('the budget by hand', () => {
  it('stops a sync with `budget pause`, which says so, and lets it go on with `budget resume`', async () => {
    scene = await setScene({ sandbox: { entries: 300 } });
    await scene.startWorker();
    const { client, taskQueue, org, project } = scene;
    const paused = await docferryJson(['budget', 'pause', org, ...cli()]);
    expect(paused).toMatchObject({ exitCode: 0, document: { pausedBy: 'paused', pausedUntil: null, available: 0 } });

    const input = { org, project, pass: 'sweep' as const };
    const handle = await startSync(client, taskQueue, { ...input });
    await expect
      .poll(() => syncState(client, input))
      .toMatchObject({ phase: 'waiting-for-budget', waiting: { reason: 'paused', place: 1 } });
    const shown = await docferryJson(['budget', 'show', org, ...cli()]);
    expect(shown.document).toMatchObject({
      pausedBy: 'paused',
      waiters: [{ workflowId: handle.workflowId, class: 'on-demand' }],
    });
    expect(analytics()).toBe(0);

    const resumed = await docferryJson(['budget', 'resume', org, ...cli()]);
    expect(resumed.document).toMatchObject({ pausedBy: null });
    const result = await handle.result();
    expect(result).toMatchObject({ pages: 3, entries: { seen: 300 } });
    expect(result.waitedMs).toBeGreaterThan(0);
  });

  it('follows the configuration of a worker that starts, except where a person has set it', async () => {
    scene = await setScene({ budget: '{ requests: 40, window: 1h, reserve: 5 }' });
    const { client, org } = scene;
    await scene.startWorker();
    const limits = async () => {
      const { limit, reserve, override } = await budgetView(client, org);
      return { limit, reserve, override };
    };
    await expect.poll(() => limits().catch(() => null)).toEqual({ limit: 40, reserve: 5, override: null });

    // Another worker with another configuration: the budget takes it over.
    await scene.startWorkerWith('{ requests: 30, window: 1h, reserve: 2 }');
    await expect.poll(limits).toEqual({ limit: 30, reserve: 2, override: null });

    const set = await docferryJson(['budget', 'set', org, '--requests', '7', ...cli()]);
    expect(set).toMatchObject({ exitCode: 0, document: { limit: 7 } });
    await scene.startWorkerWith('{ requests: 50, window: 1h, reserve: 3 }');
    await expect
      .poll(limits)
      .toEqual({ limit: 7, reserve: 3, override: { requests: 7, until: null, by: expect.any(String) } });
    const differs = await docferryJson(['budget', 'show', org, ...cli()]);
    expect(differs.document).toMatchObject({ configured: { requests: 50, reserve: 3 }, differs: true });
    const reset = await docferryJson(['budget', 'reset', org, ...cli()]);
    expect(reset.document).toMatchObject({ limit: 40, reserve: 5, override: null, differs: false });
  });
});
