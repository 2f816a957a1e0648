import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { organizationsOf } from '../../src/organizations.ts';
import type { DocumentationService } from '../../src/service/client.ts';
import { BadRequest, NotFound, NotReady, PlanRequired, RateLimited, Unauthorized } from '../../src/service/errors.ts';
import { load, minimal } from '../config/config-folder.ts';
import { failureOf, json, type Received, serviceWith, startServer } from './http-server.ts';

const answer = { jobId: 'job_1', status: 'running', bundleUrl: 'https://store.example/b' };

const operations: readonly [string, (service: DocumentationService) => Promise<unknown>][] = [
  ['start a job', (service) => service.startExportJob({ domain: 'docs.example' })],
  ['read a job', (service) => service.getExportJob('job_1')],
  ['ask for the bundle', (service) => service.createBundleLink('job_1')],
];

const statuses = [
  [400, BadRequest],
  [401, Unauthorized],
  [403, PlanRequired],
  [404, NotFound],
  [409, NotReady],
  [410, BadRequest],
  [429, RateLimited],
] as const;

describe('get static export job status', () => {
  it('sends no body', async () => {
    const { service, received } = await serviceWith(json(answer));
    await service.getExportJob('job_1');
    expect(received).toMatchObject([{ method: 'GET', body: '' }]);
    expect(received[0]?.headers['content-type']).toBeUndefined();
  });
});

describe('what the interface does not show', () => {
  it.each(operations)('%s succeeds with any of 200, 201 and 202', async (_name, call) => {
    for (const status of [200, 201, 202]) {
      const { service } = await serviceWith(json(answer, status));
      await expect(call(service)).resolves.toBeDefined();
    }
  });

  it('an answer with other fields is read all the same', async () => {
    const more = { jobId: 'another', queue: { place: 3 }, createdAt: 5, updatedAt: 'never', error: null };
    const { service } = await serviceWith(json({ ...answer, ...more }));
    expect(await service.startExportJob({ domain: 'docs.example' })).toMatchObject({ jobId: 'another' });
    expect(await service.getExportJob('job_1')).toEqual({
      jobId: 'job_1',
      status: 'running',
      state: 'running',
      percent: null,
      pageCount: null,
      error: null,
    });
    expect((await service.createBundleLink('job_1')).url.href).toBe(answer.bundleUrl);
  });

  it.each(operations.flatMap(([name, call]) => statuses.map(([status, type]) => [name, status, type, call] as const)))(
    '%s says %d with or without a body that can be read',
    async (_name, status, type, call) => {
      const spoken = await serviceWith(json({ error: 'because' }, status));
      const error = await failureOf(call(spoken.service));
      expect(error).toBeInstanceOf(type);
      expect(String(error)).toMatch(new RegExp(`\\(${status}\\): because$`));
      const silent = await serviceWith((response) => response.writeHead(status).end('<html>no</html>'));
      expect(await failureOf(call(silent.service))).toBeInstanceOf(type);
    },
  );
});

describe('an answer that takes its time', () => {
  const slowly = (ms: number) => async (response: ServerResponse, request: Received) => {
    await sleep(ms);
    json(answer)(response, request);
  };

  it('is waited for though a request for feedback would arrive too late by then', async () => {
    const { baseUrl } = await startServer(slowly(1_200));
    const address = `service: { baseUrl: "${baseUrl}", allowInsecure: true }`;
    const config = load(`${minimal.replace(/service: .*/, address)}    budget: { arrival: 1s }\n`);
    const service = organizationsOf(config)[0]?.service;
    if (service === undefined) throw new Error('no organization');
    const calls = [service.getFeedbackPage('p', {}).catch(String), ...operations.map(([, call]) => call(service))];
    const [feedback, ...others] = await Promise.all(calls);
    expect(feedback).toContain('did not answer within 1000 ms');
    expect(others).toHaveLength(3);
  });

  it('is waited for longer where the service may pack the archive first', async () => {
    const { service } = await serviceWith(slowly(300), { timeouts: { firstByteMs: 50, overallMs: 100 } });
    expect(await failureOf(service.getExportJob('job_1'))).toMatchObject({ code: 'ETIMEDOUT' });
    expect((await service.createBundleLink('job_1')).url.href).toBe(answer.bundleUrl);
  });
});
