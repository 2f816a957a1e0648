import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { JobReading } from '../../../src/activities/export-steps.ts';
import type { FetchBundleResult } from '../../../src/activities/fetch-bundle.ts';
import type { Activities } from '../../../src/activities/index.ts';
import type { Workflows } from '../../../src/contract.ts';
import type { ExportInput, ExportParameters } from '../../../src/exports/rules/site-export.ts';
import { startExport } from '../../../src/operations/exports.ts';
import { exportWorkflowId } from '../../../src/rules/workflow-ids.ts';
import type { SitePlan } from '../../../src/workflows/kit.ts';
import { continuing } from './continued-runs.ts';

let sites = 0;
/**
 * An export request, each for another site, also of other processes. With the fast failover, a step whose worker stood still for
 * three seconds on a busy machine would run again, and tests would count it twice.
 */
export const input = (parameters: ExportParameters = {}) => {
  sites += 1;
  return {
    org: 'acme',
    domain: `docs-${process.pid}-${sites}.example`,
    parameters,
    failover: 'tolerant',
  } satisfies ExportInput;
};

export const reading = (more: Partial<JobReading> = {}): JobReading => ({
  state: 'running',
  status: 'running',
  percent: null,
  pageCount: null,
  error: null,
  ...more,
});
export const completed = reading({ state: 'completed', status: 'completed', percent: 100, pageCount: 7 });

export const digest = 'ab'.repeat(32);
export const bundle: FetchBundleResult & { ok: true } = {
  ok: true,
  linksRequested: 1,
  pages: 7,
  files: 9,
  archive: { sha256: 'cd'.repeat(32), bytes: 1_234, format: 'tar.gz' },
  contentDigest: digest,
  seal: 'ef'.repeat(32),
  current: null,
  heldAt: null,
  asks: [],
  kept: null,
};
/** The bundle of a site whose current version has this content already. */
export const unchanged = {
  ...bundle,
  current: { version: '20260101T000000Z-abababababab', contentDigest: digest, publishedAt: 'x', epoch: 4 },
  kept: {
    version: '20260101T000000Z-abababababab',
    url: 'http://bundles.example/kept',
    archive: { sha256: 'ef'.repeat(32), bytes: 1_200, format: 'tar.gz' },
    rollouts: [],
  },
} satisfies FetchBundleResult;
/** Targets with a place and nothing else. */
export const targetsOf = (...names: string[]): SitePlan['targets'] =>
  names.map((target) => ({ target, steps: ['place'] }));

export const sitePlan: SitePlan = {
  storeId: 'store-1',
  jobTimeoutMs: 7_200_000,
  jobAttempts: 3,
  startTimeoutMs: 3_600_000,
  approval: { always: false, timeoutMs: 7 * 86_400_000 },
  usualJobsMs: [],
  targets: targetsOf('directory:./site'),
  webhooks: [],
};

type Calls = { [Name in keyof Activities]?: Parameters<Activities[Name]>[0][] };

/** Starts exports in an environment, or joins them. */
export const exportStarter = (env: TestWorkflowEnvironment) => async (taskQueue: string, request: ExportInput) => {
  if (!request.carried) return (await startExport(env.client, taskQueue, request, 'join')).handle;
  const workflowId = exportWorkflowId(request.org, request.domain);
  const options = { workflowId, taskQueue, memo: continuing, args: [request] as [ExportInput] };
  return env.client.workflow.start<Workflows['exportSite']>('exportSite', options);
};

/** Activities of a successful export, with replacements, and a record of all calls. */
export function exportActivities(replace: Partial<Activities> = {}) {
  const calls: Calls = {};
  let jobs = 0;
  const usual: Partial<Activities> = {
    planExport: async () => sitePlan,
    startJob: async () => ({ jobId: `job-${++jobs}` }),
    readJob: async () => completed,
    fetchBundle: async () => bundle,
    publishVersion: async ({ domain, version }) => ({
      url: `http://bundles.example/${domain}/${version}`,
      heldAt: null,
    }),
    rollOut: async ({ target, step }) => ({ target, step, outcome: 'rolled-out', detail: 'switched' }),
    discardStaged: async () => {},
    recordExportRun: async () => {},
    recordAuditEntry: async () => {},
  };
  const activities = Object.fromEntries(
    Object.entries({ ...usual, ...replace }).map(([name, activity]) => [
      name,
      async (args: never) => {
        const noted = calls as Record<string, unknown[]>;
        noted[name] = [...(noted[name] ?? []), args];
        return activity(args);
      },
    ]),
  ) as Partial<Activities>;
  return { activities, calls };
}
