import { setTimeout as sleep } from 'node:timers/promises';
import { askForKeyCheck, BudgetClient, retryKey } from '../../../src/budget/client.ts';
import {
  attributesOf,
  configureBudgetUpdate,
  permitsFreedSignal,
  refreshStateQuery,
  reportLeaseSignal,
  type Workflows,
} from '../../../src/contract.ts';
import { exportHandle, startExport } from '../../../src/operations/exports.ts';
import { type SyncHandle, startSync, syncState } from '../../../src/operations/syncs.ts';
import {
  budgetWorkflowId,
  keyCheckWorkflowId,
  patientKeyCheckWorkflowId,
  refreshWorkflowId,
  workflowTypes,
} from '../../../src/rules/workflow-ids.ts';
import { applySchedules } from '../../../src/schedules/schedules.ts';
import type { RecordingScene } from './record-scene.ts';
import { type Stage, until } from './stage.ts';

const pass = 'sweep';

function begin({ client, taskQueue, org, project }: Stage): Promise<SyncHandle> {
  return startSync(client, taskQueue, { org, project, pass });
}

const phaseIs = ({ client, org, project }: Stage, phase: string) =>
  until(`the pass is ${phase}`, async () => (await syncState(client, { org, project, pass })).phase === phase);

const budgetOf = ({ client, taskQueue, config }: Stage) =>
  new BudgetClient(client, taskQueue, new Map(config.organizations.map(({ id, budget }) => [id, budget])));

/**
 * A person overrides, pauses and configures the budget while a pass waits, tries to cancel it, and sends it nonsense; a
 * program's 401 makes it check the key.
 */
const byHand: RecordingScene = {
  name: 'by-hand',
  settings: { sandbox: { entries: 300 } },
  async play(stage) {
    const { client, org, config } = stage;
    const budget = budgetOf(stage);
    const handle = client.workflow.getHandle(budgetWorkflowId(org));
    await until('the budget has started', () => budget.pause(org, { forMs: null }));
    const sync = await begin(stage);
    await phaseIs(stage, 'waiting-for-budget');
    await client.workflow.getHandle(sync.workflowId).signal(permitsFreedSignal.name);
    await phaseIs(stage, 'waiting-for-budget');
    await budget.override(org, { requests: 7, forMs: 1_000 });
    await handle.signal(reportLeaseSignal.name, { leaseId: 7 });
    await handle.cancel();
    await budget.pause(org, null);
    await sync.result();
    await budget.override(org, { reserve: 3, forMs: null });
    const raised = { ...config.organizations[0]?.budget, requests: 90 };
    await handle.executeUpdate(configureBudgetUpdate.name, { args: [raised] });
    await budget.override(org, null);
    await handle.signal(reportLeaseSignal.name, { leaseId: 'of-a-program', arrived: [], doubted: true });
    const check = client.workflow.getHandle(patientKeyCheckWorkflowId(org));
    await until('the key is checked', () =>
      check.result().then(
        () => true,
        () => false,
      ),
    );
    await retryKey(client, org);
    await budget.pause(org, { forMs: 500 });
    // Lets the timer fire at which the pause ends.
    await sleep(2_000);
    await stage.keep('by-hand', handle.workflowId);
    await stage.keep('doubted', check.workflowId);
    await stage.keep('woken', sync.workflowId);
  },
};

/** The window is too small for the pass, which waits on timers; the next one is cancelled while it does. */
const waiting: RecordingScene = {
  name: 'waiting',
  settings: {
    sandbox: { entries: 1_500, requests: 5, windowMs: 3_000 },
    budget: '{ requests: 5, window: 3s, arrival: 1s }',
  },
  async play(stage) {
    const first = await begin(stage);
    await first.result();
    await stage.keep('waited', first.workflowId);
    const second = await begin(stage);
    await phaseIs(stage, 'waiting-for-budget');
    await second.cancel();
    await second.result().catch(() => null);
    await stage.keep('cancelled', second.workflowId);
    await stage.keep('waited-for', budgetWorkflowId(stage.org));
  },
};

const failed: RecordingScene = {
  name: 'failed',
  settings: { sandbox: { entries: 300, faults: { badJson: 99 } } },
  async play(stage) {
    const handle = await begin(stage);
    await handle.result().catch(() => null);
    await stage.keep('failed', handle.workflowId);
  },
};

/** The key is refused: the pass waits until a person says that it may have been changed. */
const refused: RecordingScene = {
  name: 'key',
  settings: { sandbox: { entries: 200, faults: { unauthorized: true } } },
  async play(stage) {
    const { client, taskQueue, org, sandbox } = stage;
    const sync = await begin(stage);
    await phaseIs(stage, 'unauthorized');
    await askForKeyCheck(client, taskQueue, org, 'fast');
    await stage.keep('refused', keyCheckWorkflowId(org));
    sandbox.setFaults({ unauthorized: false });
    await retryKey(client, org);
    await sync.result();
    await stage.keep('key-refused', sync.workflowId);
    await stage.keep('key-refused', budgetWorkflowId(org));
    await askForKeyCheck(client, taskQueue, org, 'fast');
    await stage.keep('accepted', keyCheckWorkflowId(org));
  },
};

const continued: RecordingScene = {
  name: 'continued',
  longHistory: true,
  settings: {
    sandbox: { entries: 4_000, requests: 10, windowMs: 3_000 },
    budget: '{ requests: 10, window: 3s, arrival: 1s }',
  },
  async play(stage) {
    const sync = await begin(stage);
    await sync.result();
    await stage.keep('continued', sync.workflowId);
    await stage.keep('continued', budgetWorkflowId(stage.org));
  },
};

/** One run of a schedule that works, one that finds the export running, one that is cancelled with what it started. */
const scheduled: RecordingScene = {
  name: 'scheduled',
  settings: { sandbox: { jobSeconds: 1, pages: 3 }, site: '        schedule: { every: 24h }' },
  async play(stage) {
    const { client, config, taskQueue, org, domain } = stage;
    const plan = await applySchedules(client, taskQueue, config.organizations, 'fast');
    const { id = '' } = plan.create[0] ?? {};
    const schedule = client.schedule.getHandle(id);
    const runs: string[] = [];
    /** Triggers the schedule and gives the id of the run it starts. */
    const trigger = async (label: string) => {
      await schedule.trigger();
      const latest = async () =>
        (await schedule.describe()).info.recentActions.at(-1)?.action.workflow.workflowId ?? '';
      await until(`the schedule has started "${label}"`, async () => ![...runs, ''].includes(await latest()));
      const workflowId = await latest();
      runs.push(workflowId);
      return client.workflow.getHandle(workflowId);
    };
    const first = await trigger('completed');
    await first.result();
    await stage.keep('completed', first.workflowId);
    // No worker polls, so the export started by hand is there first, and runs.
    await stage.stopWorker();
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: { force: true } }, 'refuse');
    const second = await trigger('skipped');
    await stage.startWorker();
    await second.result();
    await stage.keep('skipped', second.workflowId);
    await handle.result();
    stage.sandbox.setFaults({ stuckJobs: 1 });
    const third = await trigger('cancelled');
    await until(
      'its export renders',
      async () => (await exportHandle(client, org, domain).query<{ phase: string }>('state')).phase === 'rendering',
    );
    await third.cancel();
    await third.result().catch(() => null);
    await stage.keep('cancelled', third.workflowId);
    await applySchedules(client, taskQueue, [], 'fast');
  },
};

let refreshes = 0;

function refresh({ client, taskQueue, org }: Stage) {
  refreshes += 1;
  return client.workflow.start<Workflows['refreshFeedback']>(workflowTypes.refreshFeedback, {
    taskQueue,
    workflowId: `${refreshWorkflowId(org)}-${refreshes}`,
    typedSearchAttributes: attributesOf({ org, phase: 'starting' }),
    args: [{ org, failover: 'fast' }],
  });
}

/** A first reading waits for the budget; a run finds nothing; one finds a project that is gone; one waits for the key and is cancelled. */
const refreshed: RecordingScene = {
  name: 'refreshed',
  settings: {
    sandbox: { entries: 900, requests: 5, windowMs: 3_000 },
    budget: '{ requests: 5, window: 3s, arrival: 1s }',
    refresh: '{ every: 30s, share: 50% }',
    withWebhooks: true,
  },
  async play(stage) {
    const { sandbox } = stage;
    const play = async (label: string) => {
      const run = await refresh(stage);
      await run.result().catch(() => null);
      await stage.keep(label, run.workflowId);
    };
    await play('first-reading');
    await play('nothing-found');
    sandbox.setFaults({ badJson: 5 });
    await sleep(3_000);
    await play('page-broken');
    sandbox.setFaults({ badJson: 0, unauthorized: true });
    await sleep(3_000);
    const last = await refresh(stage);
    await until('it waits for the key', async () => (await last.query(refreshStateQuery)).phase === 'unauthorized');
    await last.cancel();
    await last.result().catch(() => null);
    await stage.keep('cancelled', last.workflowId);
  },
};

/** Passes, the refresh, the budget, checks of the key and schedules. */
export const feedbackScenes: readonly RecordingScene[] = [
  byHand,
  waiting,
  failed,
  refused,
  continued,
  refreshed,
  scheduled,
];
