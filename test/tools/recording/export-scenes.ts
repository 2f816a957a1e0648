import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { retryKey } from '../../../src/budget/client.ts';
import { phaseSignal } from '../../../src/contract.ts';
import {
  approveExport,
  type ExportHandle,
  exportHandle,
  exportState,
  pollNow,
  rejectExport,
  startExport,
  startRollback,
} from '../../../src/operations/exports.ts';
import { watchScheduleId, watchWorkflowId } from '../../../src/rules/workflow-ids.ts';
import { triggerSchedule } from '../../../src/schedules/schedules.ts';
import { Database } from '../../../src/sqlite.ts';
import type { RecordingScene } from './record-scene.ts';
import { type Stage, until } from './stage.ts';

const quickJob = { jobSeconds: 1, pages: 3 };

async function begin({ client, taskQueue, org, domain }: Stage): Promise<ExportHandle> {
  return (await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse')).handle;
}

const ended = (handle: ExportHandle) => handle.result().catch(() => null);
const phaseIs = (stage: Stage, phase: string) =>
  until(`the export is ${phase}`, async () => {
    return (await exportState(stage.client, stage.org, stage.domain)).phase === phase;
  });

async function exportOnce(stage: Stage, label: string): Promise<string> {
  const handle = await begin(stage);
  const { version } = await handle.result();
  await stage.keep(label, handle.workflowId);
  return version ?? '';
}

/** One webhook accepts at the second attempt, the other is gone; the download takes so long that it is told of. */
const published: RecordingScene = {
  name: 'published',
  settings: {
    sandbox: { jobSeconds: 3, pages: 3, padBytes: 12 * 2 ** 20, storageRate: 2 ** 20 },
    withWebhooks: true,
  },
  async play(stage) {
    const { client, org, domain } = stage;
    const handle = await begin(stage);
    await until('a poll is due', async () => (await exportState(client, org, domain)).nextPoll !== null);
    await pollNow(client, org, domain);
    await ended(handle);
    await stage.keep('published', handle.workflowId);
    await stage.keepAll('deliverWebhook', ['accepted', 'refused']);
    for (const { workflowId } of stage.kept.slice(1)) {
      await client.workflow
        .getHandle(workflowId)
        .result()
        .catch(() => null);
    }
    await exportOnce(stage, 'unchanged');
  },
};

const approval: RecordingScene = {
  name: 'approval',
  settings: { sandbox: quickJob, site: '        approval: manual\n        approvalTimeout: 1h' },
  async play(stage) {
    const { client, org, domain, sandbox, folder } = stage;
    const decide = async (label: string, decision: (handle: ExportHandle, version: string) => Promise<unknown>) => {
      const handle = await begin(stage);
      await phaseIs(stage, 'awaiting-approval');
      await decision(handle, (await exportState(client, org, domain)).approval?.version ?? '');
      await ended(handle);
      await stage.keep(label, handle.workflowId);
      sandbox.publishRevision(domain);
    };
    await decide('approved', (_handle, version) => approveExport(client, { org, domain, version }));
    const database = new Database(join(folder, 'data/feedback.db'));
    database.exec("create trigger away before insert on audit begin select raise(abort, 'away'); end");
    await decide('rejected', (_handle, version) =>
      rejectExport(client, { org, domain, version, reason: 'the prices are wrong' }),
    );
    database.exec('drop trigger away');
    database.close();
    await decide('cancelled-awaiting-approval', (handle) => handle.cancel());
    await stage.keepAll('recordAuditEntry', ['written']);
    const { workflowId = '', runId } = stage.kept.find(({ label }) => label === 'written') ?? {};
    await client.workflow.getHandle(workflowId, runId).result();
  },
};

const expired: RecordingScene = {
  name: 'expired',
  settings: { sandbox: quickJob, site: '        approval: manual\n        approvalTimeout: 2s' },
  async play(stage) {
    await exportOnce(stage, 'approval-expired');
  },
};

const restarted: RecordingScene = {
  name: 'restarted',
  settings: { sandbox: { ...quickJob, faults: { jobStartResets: 1, failJobs: 2 } } },
  async play(stage) {
    await exportOnce(stage, 'job-restarted');
  },
};

const cancelled: RecordingScene = {
  name: 'cancelled',
  settings: { sandbox: { ...quickJob, jobSeconds: 600 } },
  async play(stage) {
    const handle = await begin(stage);
    await phaseIs(stage, 'rendering');
    // A message that makes no sense is ignored, which shows in the details.
    await handle.signal(phaseSignal.name, { phase: 'lunch' });
    await handle.cancel();
    await ended(handle);
    await stage.keep('cancelled', handle.workflowId);
  },
};

const refused: RecordingScene = {
  name: 'refused',
  settings: { sandbox: { ...quickJob, faults: { unauthorized: true } } },
  async play(stage) {
    const { client, org, domain, sandbox } = stage;
    const handle = await begin(stage);
    await phaseIsUnauthorized(stage);
    sandbox.setFaults({ unauthorized: false });
    await retryKey(client, org);
    await until('the key is accepted', async () => (await exportState(client, org, domain)).unauthorized === null);
    await ended(handle);
    await stage.keep('key-refused', handle.workflowId);
  },
};

const phaseIsUnauthorized = ({ client, org, domain }: Stage) =>
  until('the key is refused', async () => (await exportState(client, org, domain)).unauthorized !== null);

/** Rows of runs are refused while the trigger is there, as by a database that is away. */
const recordedLater: RecordingScene = {
  name: 'recorded-later',
  settings: { sandbox: quickJob },
  async play(stage) {
    const database = new Database(join(stage.folder, 'data/feedback.db'));
    database.exec("create trigger away before insert on export_runs begin select raise(abort, 'away'); end");
    await exportOnce(stage, 'recorded-later');
    database.exec('drop trigger away');
    database.close();
    await stage.keepAll('recordRun', ['written']);
    const { workflowId = '', runId } = stage.kept.find(({ label }) => label === 'written') ?? {};
    await stage.client.workflow.getHandle(workflowId, runId).result();
  },
};

const rolledBack: RecordingScene = {
  name: 'rolled-back',
  settings: { sandbox: quickJob },
  async play(stage) {
    const { client, taskQueue, org, domain, sandbox, folder } = stage;
    const version = (await (await begin(stage)).result()).version ?? '';
    sandbox.publishRevision(domain);
    await (await begin(stage)).result();
    const rollback = async () => {
      const input = { org, domain, version, reason: 'the search is broken' };
      const start = { onRunning: 'refuse' as const, beforeCancel: async () => {} };
      return (await startRollback(client, taskQueue, input, start)).handle;
    };
    const first = await rollback();
    await first.result();
    await stage.keep('rolled-back', first.workflowId);
    await exportOnce(stage, 'held');
    // Without a worker it is certain that the cancellation comes first.
    await stage.stopWorker();
    const second = await rollback();
    await second.cancel();
    await stage.startWorker();
    await second.result().catch(() => null);
    await stage.keep('cancelled', second.workflowId);
    // The target cannot be written: a file stands in its place.
    await rm(join(folder, 'site'), { recursive: true });
    await writeFile(join(folder, 'site'), '');
    const third = await rollback();
    await third.result();
    await stage.keep('rollout-failed', third.workflowId);
  },
};

const longJob: RecordingScene = {
  name: 'long-job',
  longHistory: true,
  settings: { sandbox: { jobSeconds: 25, pages: 3 } },
  async play(stage) {
    await exportOnce(stage, 'continued');
  },
};

const longRefusal: RecordingScene = {
  name: 'long-refusal',
  longHistory: true,
  settings: { sandbox: { ...quickJob, faults: { unauthorized: true } } },
  async play(stage) {
    const { client, org, domain, sandbox } = stage;
    const handle = await begin(stage);
    const runId = async () => (await exportHandle(client, org, domain).describe()).runId;
    const first = await runId();
    await until('the export has continued as new', async () => {
      await phaseIsUnauthorized(stage);
      await retryKey(client, org);
      return (await runId()) !== first;
    });
    sandbox.setFaults({ unauthorized: false });
    await until('it has ended', async () => {
      await retryKey(client, org);
      return (await exportHandle(client, org, domain).describe()).status.name !== 'RUNNING';
    });
    await stage.keep('key-refused-continued', handle.workflowId);
  },
};

/** The first look of a watch, and the next, which goes on from it. */
const watched: RecordingScene = {
  name: 'watched',
  settings: { sandbox: quickJob, withWebhooks: true },
  async play(stage) {
    const { client, org, taskQueue } = stage;
    const query = `WorkflowId STARTS_WITH "${watchWorkflowId(org)}-" AND ExecutionStatus = "Completed"`;
    const looks = async () => (await client.workflow.count(query)).count;
    await until('the watch has looked', async () => (await looks()) === 1);
    await triggerSchedule(client, watchScheduleId(taskQueue, org));
    await until('it has looked again', async () => (await looks()) === 2);
    await stage.keepAll('watchOrganization', ['first', 'next']);
  },
};

/** Exports and rollbacks, with the deliveries and rows that they start, and the watch of an organization. */
export const exportScenes: readonly RecordingScene[] = [
  published,
  approval,
  expired,
  restarted,
  cancelled,
  refused,
  recordedLater,
  rolledBack,
  longJob,
  longRefusal,
  watched,
];
