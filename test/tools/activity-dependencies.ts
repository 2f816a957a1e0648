import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure, noopMetricMeter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/index.ts';
import type { ActivityDependencies, Organization } from '../../src/activities/dependencies.ts';
import { ask } from '../../src/budget/rules/grant-or-wait.ts';
import type { PermitAsk, WindowSettings } from '../../src/budget/rules/permits.ts';
import { report } from '../../src/budget/rules/window.ts';
import { emptyWindow } from '../../src/budget/rules/window-state.ts';
import { viewOf, type WindowView } from '../../src/budget/rules/window-view.ts';
import { DirectoryBundleStore } from '../../src/exports/store/directory-store.ts';
import { openSqliteFeedbackStore } from '../../src/feedback/store/sqlite-store.ts';
import type { WebhookDelivery } from '../../src/runs/rules/webhook-event.ts';
import { createDocumentationService } from '../../src/service/client.ts';
import { Metrics } from '../../src/temporal/metrics.ts';

/** Real stores in a temporary folder, the sandbox over HTTP, and the budget's window without Temporal. */
export interface ActivityScene {
  deps: ActivityDependencies;
  sandbox: Sandbox;
  folder: string;
  asks: PermitAsk[];
  /** Messages to webhooks whose delivery was started. */
  delivered: WebhookDelivery[];
  /** When the schedule was told to start the next refresh. */
  postponed: number[];
  /** Details that Temporal had before the step went on. */
  heartbeats: object[];
  /** Has the store go on from this file. */
  restoreFeedback(backup: string): Promise<void>;
  window(): WindowView;
  /** An empty budget, as a window after Temporal's clock was ahead. */
  resetBudget(): void;
  end(): Promise<void>;
}

export async function activityScene(
  options: SandboxOptions = {},
  settings: WindowSettings = { requests: 100, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 },
  more: Partial<Organization> = {},
): Promise<ActivityScene> {
  const folder = await mkdtemp(join(tmpdir(), 'docferry-activities-'));
  const sandbox = await startSandbox(options);
  const feedback = await openSqliteFeedbackStore(join(folder, 'feedback.db'));
  const bundles = await DirectoryBundleStore.open({
    root: join(folder, 'bundles'),
    publicUrl: 'http://localhost:8090',
  });
  const asks: PermitAsk[] = [];
  const delivered: WebhookDelivery[] = [];
  const heartbeats: object[] = [];
  const postponed: number[] = [];
  let window = emptyWindow(settings, Date.now());
  const deps: ActivityDependencies = {
    organizations: [
      {
        id: 'acme',
        service: createDocumentationService({
          baseUrl: sandbox.url,
          apiKey: () => sandbox.apiKey,
          allowInsecure: true,
        }),
        projects: [{ id: 'prj_1', freshnessMs: Number.POSITIVE_INFINITY }],
        refresh: null,
        webhooks: [],
        watchEveryMs: 60_000,
        sites: [
          {
            domain: 'docs.acme.example',
            job: { timeoutMs: 60_000, attempts: 1, startTimeoutMs: 3_600_000 },
            approval: { always: false, timeoutMs: 7 * 86_400_000 },
            bundle: {
              maxBytes: 1_000_000_000,
              maxFiles: 10_000,
              connections: 1,
              timeoutMs: 3_600_000,
              rules: {},
              render: null,
            },
            targets: [],
          },
        ],
        ...more,
      },
    ],
    feedback,
    bundles,
    keepVersions: 10,
    linkPolicy: { allowInsecure: true, linkHosts: ['127.0.0.1'] },
    metrics: new Metrics(noopMetricMeter),
    async deliver(delivery) {
      delivered.push(delivery);
    },
    outlook: {
      budget: async () => viewOf(window, Date.now()),
      refusedRuns: async () => 0,
      cutRuns: async () => [],
    },
    permits: {
      async ask(_org, question) {
        asks.push(question);
        const [next, answer] = ask(window, question, Date.now());
        window = next;
        return answer;
      },
      async report(_org, result) {
        window = report(window, result, Date.now());
      },
    },
    async postponeRefresh(_org, at) {
      postponed.push(at);
    },
    async announcePhase() {},
    async recordHeartbeat(_taskToken, details) {
      heartbeats.push({ ...(details as object) });
      return 'accepted';
    },
  };
  return {
    deps,
    sandbox,
    folder,
    asks,
    delivered,
    heartbeats,
    postponed,
    async restoreFeedback(backup) {
      await deps.feedback.close();
      // Another file: readers that are closed may still hold locks of this one (`Database.close`).
      for (const more of ['', '-wal', '-shm']) await rm(join(folder, `feedback.db${more}`), { force: true });
      await copyFile(backup, join(folder, 'feedback.db'));
      const restored = await openSqliteFeedbackStore(join(folder, 'feedback.db'));
      deps.feedback = restored;
    },
    window: () => viewOf(window, Date.now()),
    resetBudget() {
      window = emptyWindow(settings, Date.now());
    },
    async end() {
      await deps.feedback.close();
      await sandbox.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** One attempt of an activity, without the SDK's report of failures that tests provoke. */
export function mockActivity(
  info: ConstructorParameters<typeof MockActivityEnvironment>[0] = {},
): MockActivityEnvironment {
  return new MockActivityEnvironment(
    { currentAttemptScheduledTimestampMs: Date.now(), ...info },
    { logger: new DefaultLogger('ERROR', () => {}) },
  );
}

/** The heartbeat details of a step after so many attempts that failed for the cause. */
export const afterFailures = (cause: string, times: number) => ({ heartbeatDetails: { failures: { [cause]: times } } });

/** The failure an activity ends with, or null when it succeeds. */
export async function failureOf(promise: Promise<unknown>): Promise<ApplicationFailure | null> {
  try {
    await promise;
    return null;
  } catch (error) {
    if (error instanceof ApplicationFailure) return error;
    throw error;
  }
}
