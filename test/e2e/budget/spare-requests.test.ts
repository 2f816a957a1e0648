import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { budgetView } from '../../../src/budget/client.ts';
import { startSync, syncHandle, syncState } from '../../../src/operations/syncs.ts';
import { applySchedules } from '../../../src/schedules/schedules.ts';
import { docferryJson } from '../../tools/cli/run-docferry.ts';
import { compareWithTruth } from '../../tools/feedback/feedback-truth.ts';
import { type Scene, setScene } from '../../tools/scene.ts';
import { devServerEnvironment } from '../../tools/temporal/temporal.ts';
import { replayChain } from '../../tools/temporal/workflow-run.ts';

let scene: Scene;
afterEach(async () => {
  if (!scene) return;
  await applySchedules(scene.client, scene.taskQueue, [], 'fast');
  await scene.end();
});

interface Entry {
  id: string;
  status: string;
  createdAt: string | null;
}

/** After a pass by hand nothing is spare for 20 s. */
const within = { interval: 500 };
const verify = () => ({ org: scene.org, project: scene.project, pass: 'verify' as const });
const differences = () => compareWithTruth({ folder: join(scene.folder, 'data'), sandbox: scene.sandbox });
const apply = (organizations = scene.config.organizations) =>
  applySchedules(scene.client, scene.taskQueue, organizations, 'fast');
const isRunning = async () => (await syncHandle(scene.client, verify()).describe()).status.name === 'RUNNING';

describe('budget.spare: verify', () => {
  it('finds with what is left over what reviews cannot see, gives way to a person, and ends with the configuration', async () => {
    scene = await setScene({
      sandbox: { entries: 900, requests: 30, windowMs: 3_000 },
      budget: '{ requests: 30, window: 3s, arrival: 1s, spare: verify }',
    });
    await scene.startWorker();
    const { client, taskQueue, org, project } = scene;
    const sweep = await startSync(client, taskQueue, { org, project, pass: 'sweep', class: 'on-demand' });
    await sweep.result();
    expect((await apply()).create.map(({ target }) => target)).toEqual([{ kind: 'sync', ...verify() }]);

    const entries = ([...scene.sandbox.truth(project)] as Entry[]).filter(({ createdAt }) => createdAt !== null);
    const resolved = entries.filter(({ status }) => status === 'resolved').slice(0, 4);
    scene.sandbox.changeEntries(
      project,
      resolved.map(({ id }) => ({ id, status: 'dismissed' })),
    );
    const open = entries.filter(({ status }) => status === 'pending').slice(0, 2);
    scene.sandbox.deleteEntries(
      project,
      open.map(({ id }) => id),
    );

    // Seen while it waits: in the budget, and as a running pass of the project.
    const workflowId = `sync:${org}:${project}:verify`;
    await expect
      .poll(() => budgetView(client, org).then(({ waiters }) => waiters), within)
      .toContainEqual(expect.objectContaining({ workflowId, class: 'verify' }));
    await expect
      .poll(async () => {
        const { document } = await docferryJson(['feedback', 'status', project, '--config', scene.configFile]);
        return JSON.stringify(document);
      }, within)
      .toContain(`"workflowId":"${workflowId}"`);

    const byHand = await startSync(client, taskQueue, { org, project, pass: 'review', class: 'on-demand' });
    expect((await byHand.result()).waitedMs).toBe(0);

    await expect.poll(differences, within).toMatchObject({ missing: 0, different: 0, surplus: 0 });
    const { document } = await docferryJson(['feedback', 'status', project, '--config', scene.configFile]);
    expect(JSON.stringify(document)).toContain('"pass":"verify"');

    // A pause stops it like everything else.
    await docferryJson(['budget', 'pause', org, '--config', scene.configFile]);
    await expect
      .poll(async () => (await isRunning()) && (await syncState(client, verify())).waiting?.reason, within)
      .toBe('paused');
    const sent = scene.sandbox.log().length;
    const { runId } = await syncHandle(client, verify()).describe();
    const bare = scene.config.organizations.map(({ spare: _spare, ...organization }) => organization);
    const plan = await apply(bare);
    expect(plan.delete.map(({ id }) => id.endsWith(workflowId))).toEqual([true]);
    expect(plan.stop).toContain(workflowId);
    await expect.poll(isRunning, within).toBe(false);
    expect(scene.sandbox.log().length).toBe(sent);
    expect(scene.sandbox.log().filter(({ status }) => status === 429)).toEqual([]);
    await replayChain(await devServerEnvironment(), { workflowId, runId });
  });
});
