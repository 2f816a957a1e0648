import { afterEach, describe, expect, it } from 'vitest';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { type Scene, setScene } from '../tools/scene.ts';

let scene: Scene;
afterEach(() => scene?.end());

interface Line {
  msg: string;
  sdkComponent?: string;
  workflowId?: string;
  runId?: string;
  org?: string;
  domain?: string;
  project?: string;
}

describe('the log of a worker', () => {
  it('names in each line of a run the run, its organization, and its site or project', async () => {
    scene = await setScene({
      sandbox: { jobSeconds: 1, entries: 150 },
      webhooks: '[{ name: down, url: "http://127.0.0.1:9/hook", secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz" }]',
    });
    await scene.startWorker();
    const { client, taskQueue, org, project, domain } = scene;
    scene.sandbox.setFaults({ errors: 2 });
    const exported = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    const runs = [await exported.handle.result(), await sync.result()];
    const lines = (): Line[] =>
      scene
        .logged()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const ofRuns = () => lines().filter(({ workflowId }) => workflowId?.includes(org));
    await expect.poll(() => ofRuns().some(({ msg }) => msg === 'Activity failed')).toBe(true);
    for (const { workflowId, runId } of runs) {
      const own = ofRuns().filter((line) => line.runId === runId);
      expect(own.length, workflowId).toBeGreaterThan(5);
      expect(new Set(own.map((line) => line.workflowId))).toEqual(new Set([workflowId]));
    }
    for (const line of ofRuns()) {
      expect(line).toMatchObject({ runId: expect.stringMatching(/^[0-9a-f-]{36}$/), org });
      if (line.workflowId?.startsWith('export:')) expect(line).toMatchObject({ domain });
      if (line.workflowId?.startsWith('sync:')) expect(line).toMatchObject({ project });
    }
    const components = new Set(['activity', 'workflow']);
    const nameless = lines().filter((line) => components.has(line.sdkComponent ?? '') && line.workflowId === undefined);
    expect(nameless).toEqual([]);
  });
});
