import type { ExportRunRow } from '../../../src/feedback/store/run-records.ts';

/** The moment so many hours ago. */
export const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

/** The row of an export of `docs.acme.example` that took half an hour and ended so many hours ago. */
export const endedExport = (runId: string, hours: number, over: Partial<ExportRunRow> = {}): ExportRunRow => ({
  workflowId: 'export:acme:docs.acme.example',
  runId,
  org: 'acme',
  domain: 'docs.acme.example',
  startedAt: hoursAgo(hours + 0.5).toISOString(),
  finishedAt: hoursAgo(hours).toISOString(),
  outcome: 'published',
  jobId: 'job',
  jobsStarted: 1,
  version: null,
  contentDigest: null,
  polls: 1,
  detail: '{}',
  jobMs: null,
  ...over,
});
