import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../sandbox/index.ts';
import { createDocumentationService } from '../src/service/client.ts';
import { countedService } from '../src/worker-metrics.ts';
import { recordedMetrics } from './tools/recorded-metrics.ts';

let sandbox: Sandbox;
afterEach(() => sandbox.stop());

async function countedSandbox(limit = 100) {
  sandbox = await startSandbox({ requests: limit });
  const { metrics, values } = recordedMetrics();
  let key = sandbox.apiKey;
  const access = { allowInsecure: true, apiKey: () => key };
  return {
    service: countedService(createDocumentationService({ ...access, baseUrl: sandbox.url }), 'acme', metrics),
    /** What was counted, as `endpoint outcome`. */
    counts: () =>
      Object.fromEntries(
        [...values].map(([series, value]) => [
          series.replace(/.+endpoint="(.+)",org="acme",outcome="(.+)".+/, '$1 $2'),
          value,
        ]),
      ),
    useKey: (other: string) => {
      key = other;
    },
  };
}

const ignore = () => {};

describe('countedService', () => {
  it('counts requests by endpoint and by what the service answered', async () => {
    const { service, counts, useKey } = await countedSandbox(1);
    await service.getFeedbackPage('prj_1', { limit: 1 });
    await service.getFeedbackPage('prj_1', { limit: 1 }).catch(ignore);
    const { jobId } = await service.startExportJob({ domain: 'docs.acme.example' });
    await service.getExportJob(jobId);
    await service.createBundleLink(jobId).catch(ignore);
    useKey('wrong');
    await service.getExportJob(jobId).catch(ignore);
    expect(counts()).toEqual({
      'feedback ok': 1,
      'feedback rate-limited': 1,
      'start-job ok': 1,
      'job ok': 1,
      'job unauthorized': 1,
      'bundle-link not-ready': 1,
    });
  });

  it('counts a request that found no server, and none that the budget stopped at the last moment', async () => {
    const { service, counts } = await countedSandbox();
    const stopped = service.getFeedbackPage(
      'prj_1',
      {},
      {
        beforeSend: () => {
          throw new Error('the lease is over');
        },
      },
    );
    await expect(stopped).rejects.toThrow('the lease is over');
    expect(counts()).toEqual({});
    await sandbox.stop();
    await expect(service.getFeedbackPage('prj_1', {})).rejects.toThrow();
    expect(counts()).toEqual({ 'feedback not-sent': 1 });
  });

  it('counts what other programs ask through the gateway by the status of the answer', async () => {
    const { service, counts, useKey } = await countedSandbox(1);
    const ask = async () => {
      const { body } = await service.getAnalytics({ path: '/v1/analytics/prj_1/feedback', query: '' }, {});
      body.resume();
    };
    await ask();
    await ask();
    useKey('wrong');
    await ask();
    expect(counts()).toEqual({ 'gateway ok': 1, 'gateway rate-limited': 1, 'gateway unauthorized': 1 });
  });
});
