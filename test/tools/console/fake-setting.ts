import type { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import type { ConsoleSetting } from '../../../src/console/console-setting.ts';
import type { BundleStore } from '../../../src/exports/store/bundle-store.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import type { AuditEntry } from '../../../src/runs/rules/audit.ts';

/** Something was asked of Temporal or a store by a name that only acts. */
export interface Effects {
  calls: string[];
  /** What the audit was given. */
  auditEntries: AuditEntry[];
}

/** Text that people and services may have put anywhere. */
export const hostile = '<img src=x onerror=alert(1)></title><script>alert(2)</script>"\'&\u202e\u0000';

/**
 * A setting in memory: Temporal and the stores answer what they are given, and every call is noted. For what pages show and
 * what requests are refused; what actions do is tested with real ones.
 */
export function fakeSetting(
  effects: Effects,
  {
    domains = ['docs.acme.example'],
    reason = 'a reason',
    described = {},
    state = {},
  }: { domains?: string[]; reason?: string; described?: object; state?: object } = {},
): ConsoleSetting {
  const noting = (name: string, answer: unknown) => async () => {
    effects.calls.push(name);
    return answer;
  };
  const nothing = async function* () {};
  const handle = {
    describe: async () => ({ status: { name: 'COMPLETED' }, runId: 'r', raw: {}, ...described }),
    cancel: noting('cancel', {}),
    query: async () => ({
      phase: 'rolling-out',
      progress: null,
      nextPoll: null,
      download: null,
      version: null,
      parameters: {},
      ...state,
    }),
    executeUpdate: noting('update', { version: 'v' }),
    signal: noting('signal', {}),
  };
  const schedule = {
    describe: async () => ({ info: { runningActions: [] } }),
    pause: noting('pause', {}),
    unpause: noting('unpause', {}),
    trigger: noting('trigger', {}),
  };
  const client = {
    workflow: {
      list: nothing,
      getHandle: () => handle,
      start: noting('start', handle),
      executeUpdateWithStart: noting('updateWithStart', {}),
    },
    schedule: { list: nothing, getHandle: () => schedule },
    connection: { close: async () => {} },
    withDeadline: (_at: number, work: () => unknown) => work(),
    options: {
      loadedDataConverter: {
        payloadConverter: defaultPayloadConverter,
        failureConverter: defaultFailureConverter,
        payloadCodecs: [],
      },
    },
  };
  const version = '20261121T040200Z-aaaaaaaaaaaa';
  const hold = { version, since: '2026-11-21T04:02:00.000Z', reason, waiting: null };
  const bundles = {
    current: async () => ({ version, contentDigest: 'd', publishedAt: '2026-11-21T04:02:00.000Z', epoch: 1 }),
    versions: async () => [
      { version, contentDigest: 'd', publishedAt: '2026-11-21T04:02:00.000Z', pages: 3, bytes: 1_000, jobId: 'j' },
      {
        version: 'v-old',
        contentDigest: 'e',
        publishedAt: '2026-11-20T04:02:00.000Z',
        pages: 3,
        bytes: 900,
        jobId: 'i',
      },
    ],
    manifest: async () => ({}),
    urlOf: () => 'http://localhost:8090/x',
    rolledOut: async () => version,
    observed: async () => ({}),
    inService: async (names: string[]) => new Map(names.map((name) => [name, { current: version, held: version }])),
    holds: { of: async () => hold, place: noting('hold', hold), release: noting('release', hold) },
  };
  const run = {
    workflowId: 'w',
    runId: 'r',
    org: 'acme',
    domain: domains[0],
    startedAt: '2026-11-21T04:00:00.000Z',
    finishedAt: '2026-11-21T04:02:00.000Z',
    outcome: 'rejected',
    version,
    polls: 3,
    detail: JSON.stringify({ reasons: [{ rule: 'not-approved', path: null, detail: reason }] }),
  };
  const entry = {
    entryId: 'r/u',
    at: run.finishedAt,
    action: 'reject',
    org: 'acme',
    subject: null,
    who: 'ada',
    reason: null,
    detail: '{}',
    workflowId: null,
  };
  const feedback = {
    latestRecords: async () => ({
      sites: domains.map((domain) => ({
        org: 'acme',
        domain,
        lastOutcome: 'rejected',
        lastAt: run.finishedAt,
        lastReason: reason,
        failingSince: run.finishedAt,
      })),
      projects: [],
    }),
    listExportRuns: async () => [run],
    storedProjects: async () => [
      {
        org: 'acme',
        project: 'prj_1',
        entries: 1,
        rejects: 0,
        tombstones: 0,
        watermark: null,
        everSwept: true,
        personalSince: null,
        hasWholeRejects: false,
        newestReadAt: null,
        verifiedUpTo: null,
        verified: { ranges: [], undated: null },
        firstReading: null,
        passes: [],
      },
    ],
    everSwept: async () => true,
    recordAuditEntries: async (auditEntries: AuditEntry[]) => {
      effects.auditEntries.push(...auditEntries);
    },
    listAuditEntries: async function* () {
      yield { ...entry, subject: domains[0], who: reason, reason };
      yield { ...entry, org: reason, subject: reason, detail: JSON.stringify({ [reason]: reason }) };
    },
    listPasses: async () => [],
    close: async () => {},
  };
  return {
    organizations: [
      {
        id: 'acme',
        budget: { requests: 100, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 },
        refresh: { everyMs: 300_000, share: 0.5 },
        projects: [{ id: 'prj_1', freshnessMs: 86_400_000 }],
        sites: domains.map((domain) => ({ domain, rollout: [{ name: 'directory:./site' }] })),
      },
    ],
    taskQueue: 'q',
    failover: 'fast',
    temporalUi: 'http://localhost:8233',
    namespace: 'default',
    connect: async () => client as unknown as Client,
    openFeedback: async () => feedback as unknown as FeedbackStore,
    openBundles: async () => bundles as unknown as BundleStore,
    openAudit: async () => feedback,
    budgets: () => {
      throw new Error('not here');
    },
    explain: (error) => {
      const { code = 'Failed', message, hint = null } = error as Error & { code?: string; hint?: string | null };
      return { code, message, hint };
    },
    askWorker: (_client, ask) => ask(),
  };
}
