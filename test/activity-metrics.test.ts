import { describe, expect, it } from 'vitest';
import type { ActivityDependencies } from '../src/activities/dependencies.ts';
import { createPassActivities } from '../src/activities/feedback-passes.ts';
import { createRecordActivities } from '../src/activities/notices.ts';
import { mockActivity } from './tools/activity-dependencies.ts';
import { recordedMetrics } from './tools/recorded-metrics.ts';

type Step<Input> = (deps: ActivityDependencies) => (input: Input) => Promise<unknown>;

/** Does a step once; returns what was counted. `records` writes its row. */
async function countsAfter<Input>(step: Step<Input>, input: object, records: () => Promise<unknown>) {
  const { metrics, values } = recordedMetrics();
  const feedback = {
    identity: 'store-1',
    predecessors: [],
    recordExportRun: records,
    finishPass: records,
    listExportRuns: async () => [{ runId: 'newer' }],
    turnNotice: async () => {},
    expire: async () => {},
    watermark: async () => null,
    verifiedUpTo: async () => null,
  };
  const deps = { metrics, feedback, organizations: [] } as unknown as ActivityDependencies;
  await mockActivity()
    .run(step(deps), input as Input)
    .catch(() => {});
  return Object.fromEntries(values);
}

const run = { org: 'acme', domain: 'docs.acme.example', outcome: 'published', polls: 7, jobMs: null, detail: '{}' };
const countsOfRun = (row: object, records = async () => {}) =>
  countsAfter((deps) => createRecordActivities(deps).recordExportRun, { ...run, ...row }, records);
const failing = () => Promise.reject(new Error('the database is down'));

describe('figures of activities', () => {
  it('count a rollout once for each target of a run, by its kind, never by version or path', async () => {
    const rollouts = ['rolled-out', 'failed', 'rolled-out'].map((outcome, index) => ({
      target: `directory:./site${index}`,
      outcome,
      detail: 'v1',
    }));
    const row = { outcome: 'rollout-failed', detail: JSON.stringify({ reasons: [], rollouts }) };
    const counted = Object.entries(await countsOfRun(row)).filter(([name]) => name.includes('rollouts'));
    expect(counted).toEqual([
      ['docferry_rollouts{org="acme",outcome="rolled-out",target="directory"}', 2],
      ['docferry_rollouts{org="acme",outcome="failed",target="directory"}', 1],
    ]);
  });

  it('count a run with its polls, and how long its job took, once its row is written', async () => {
    const counted = { 'docferry_exports{org="acme",outcome="published"}': 1, 'docferry_export_polls{org="acme"}': 7 };
    expect(await countsOfRun({ jobMs: 20_000 })).toEqual({
      ...counted,
      'docferry_export_job_seconds{org="acme"}': 1,
    });
    expect(await countsOfRun({})).toEqual(counted);
    expect(await countsOfRun({}, failing)).toEqual({});
  });

  it('count a pass once its row is closed', async () => {
    const pass = { org: 'acme', project: 'prj_1', outcome: 'failed', storeId: 'store-1', passId: 'p', finishedAt: 0 };
    const closes = async () => ({ project: 'prj_1', pass: 'sweep', outcome: 'failed', error: 'BadPage: …' });
    const counted = (records: () => Promise<unknown>) =>
      countsAfter((deps) => createPassActivities(deps).finishPass, pass, records);
    expect(await counted(closes)).toEqual({
      'docferry_feedback_passes{org="acme",outcome="failed",project="prj_1"}': 1,
    });
    expect(await counted(failing)).toEqual({});
  });
});
