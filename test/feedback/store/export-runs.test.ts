import { describe, expect, it } from 'vitest';
import type { ExportRunRow } from '../../../src/feedback/store/run-records.ts';
import { temporaryStore } from '../../tools/feedback/temporary-store.ts';

const run: ExportRunRow = {
  workflowId: 'export:acme:docs.acme.example',
  runId: 'run-1',
  org: 'acme',
  domain: 'docs.acme.example',
  startedAt: '2026-11-21T08:00:00.000Z',
  finishedAt: '2026-11-21T08:10:00.000Z',
  outcome: 'failed',
  jobId: null,
  jobsStarted: 1,
  version: null,
  contentDigest: null,
  polls: 7,
  detail: '{}',
  jobMs: null,
};

describe('export runs', () => {
  it('stores the row of a run, and replaces it when it is recorded again', async () => {
    await using at = await temporaryStore();
    await at.store.recordExportRun(run);
    const published: ExportRunRow = {
      ...run,
      outcome: 'published',
      jobId: 'job_1',
      version: '20261121T080900Z-3f9a2c1b8e7d',
      contentDigest: '3f9a2c1b8e7d',
      detail: '{"rollouts":[]}',
    };
    await at.store.recordExportRun(published);
    await at.store.recordExportRun(published);
    expect(await at.store.listExportRuns({})).toEqual([published]);
  });

  it('is listed newest first, by organization and domain, up to a limit', async () => {
    await using at = await temporaryStore();
    await at.store.recordExportRun(run);
    await at.store.recordExportRun({ ...run, runId: 'run-2', startedAt: '2026-11-21T09:00:00.000Z' });
    await at.store.recordExportRun({ ...run, runId: 'run-3', domain: 'api.acme.example' });
    await at.store.recordExportRun({ ...run, runId: 'run-4', org: 'globex' });
    const ids = async (filter: Parameters<typeof at.store.listExportRuns>[0]) =>
      (await at.store.listExportRuns(filter)).map(({ runId }) => runId);
    expect(await ids({})).toEqual(['run-2', 'run-4', 'run-3', 'run-1']);
    expect(await ids({ org: 'acme', domain: 'docs.acme.example' })).toEqual(['run-2', 'run-1']);
    expect(await ids({ org: 'acme', limit: 1 })).toEqual(['run-2']);
    await at.store.recordExportRun({ ...run, runId: 'run-5', outcome: 'published' });
    expect(await ids({ outcome: 'published' })).toEqual(['run-5']);
    expect(await ids({ since: '2026-11-21T09:00:00.000Z' })).toEqual(['run-2']);
  });

  it('tells how long the last jobs of a site took, the latest first, without those that tell nothing', async () => {
    await using at = await temporaryStore();
    const hour = (n: number) => `2026-11-21T0${n}:00:00.000Z`;
    for (const [n, jobMs] of [300_000, null, 2 ** 40, 310_000].entries()) {
      await at.store.recordExportRun({ ...run, runId: `run-${n}`, startedAt: hour(n), jobMs });
    }
    await at.store.recordExportRun({ ...run, runId: 'other', org: 'globex', jobMs: 1 });
    expect(await at.store.jobDurations('acme', run.domain, 10)).toEqual([310_000, 2 ** 40, 300_000]);
    expect(await at.store.jobDurations('acme', run.domain, 1)).toEqual([310_000]);
    expect(await at.store.jobDurations('acme', 'never.example', 1)).toEqual([]);
    expect((await at.store.listExportRuns({ org: 'acme' })).map(({ jobMs }) => jobMs)).toEqual([
      310_000,
      2 ** 40,
      null,
      300_000,
    ]);
  });
});
