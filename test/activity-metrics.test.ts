import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { activityMetrics } from '../src/worker-metrics.ts';
import { recordedMetrics } from './tools/recorded-metrics.ts';

/** Runs an activity of this name once under the interceptor; returns what was counted. */
async function countsAfter(activityType: string, input: object, work: () => Promise<unknown>) {
  const { metrics, values } = recordedMetrics();
  const logger = new DefaultLogger('ERROR', () => {});
  const env = new MockActivityEnvironment({ activityType }, { logger, interceptors: [activityMetrics(metrics)] });
  await env.run(async (_input: object) => work(), input).catch(() => {});
  return Object.fromEntries(values);
}

const fails = (failure: Error) => async () => {
  throw failure;
};
const transient = ApplicationFailure.create({ type: 'RolloutFailed', nonRetryable: false });
const permanent = ApplicationFailure.create({ type: 'RolloutFailed', nonRetryable: true });

describe('activityMetrics', () => {
  it('counts a rollout once for each target of a run, by its kind, never by version or path', async () => {
    const rollouts = ['rolled-out', 'failed', 'rolled-out'].map((outcome, index) => ({
      target: `directory:./site${index}`,
      outcome,
      detail: 'v1',
    }));
    const detail = JSON.stringify({ reasons: [], rollouts });
    const run = { org: 'acme', domain: 'docs.acme.example', outcome: 'rollout-failed', polls: 0, jobMs: null, detail };
    const counted = async (work: () => Promise<unknown>) =>
      Object.entries(await countsAfter('recordExportRun', run, work)).filter(([name]) => name.includes('rollouts'));
    expect(await counted(async () => {})).toEqual([
      ['docferry_rollouts{org="acme",outcome="rolled-out",target="directory"}', 2],
      ['docferry_rollouts{org="acme",outcome="failed",target="directory"}', 1],
    ]);
    expect(await counted(fails(transient))).toEqual([]);
  });

  it('counts a run with its polls, and how long its job took', async () => {
    const run = { org: 'acme', domain: 'docs.acme.example', outcome: 'published', polls: 7, detail: '{}' };
    const counted = { 'docferry_exports{org="acme",outcome="published"}': 1, 'docferry_export_polls{org="acme"}': 7 };
    const nothing = async () => {};
    expect(await countsAfter('recordExportRun', { ...run, jobMs: 20_000 }, nothing)).toEqual({
      ...counted,
      'docferry_export_job_seconds{org="acme"}': 1,
    });
    expect(await countsAfter('recordExportRun', { ...run, jobMs: null }, nothing)).toEqual(counted);
    expect(await countsAfter('recordExportRun', { ...run, jobMs: null }, fails(transient))).toEqual({});
  });

  it('counts passes, and each attempt to deliver a message', async () => {
    const pass = { org: 'acme', project: 'prj_1', outcome: 'failed' };
    expect(await countsAfter('finishPass', pass, async () => ({}))).toEqual({
      'docferry_feedback_passes{org="acme",outcome="failed",project="prj_1"}': 1,
    });
    const delivery = { org: 'acme', webhook: 'ops', messageId: 'msg_1' };
    const outcomeAfter = async (work: () => Promise<unknown>) =>
      Object.keys(await countsAfter('sendWebhook', delivery, work)).map(
        (series) => series.match(/outcome="(.+?)"/)?.[1],
      );
    expect(await outcomeAfter(async () => ({ status: 200 }))).toEqual(['accepted']);
    expect(await outcomeAfter(fails(transient))).toEqual(['retried']);
    expect(await outcomeAfter(fails(permanent))).toEqual(['given-up']);
  });

  it('leaves other activities alone', async () => {
    expect(await countsAfter('toString', {}, async () => ({}))).toEqual({});
  });
});
