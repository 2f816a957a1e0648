import { approveExport, rejectExport } from '../../client/decide-approval.ts';
import { exportHandle, exportState, pollNow, startExport } from '../../client/exports.ts';
import { startRollback } from '../../client/start-rollback.ts';
import { longestReason } from '../../model/export/site-export.ts';
import { exportWorkflowId } from '../../model/workflow-ids.ts';
import type { ConsoleReader, KnownSite } from '../readings/console-reader.ts';
import type { Action } from './action.ts';
import { ConsoleFailure, reasonIn, required } from './console-failure.ts';

/** What can be done with a site, by the last part of the address. Each does what the command of its name does. */
export const siteActions: Readonly<Record<string, Action<KnownSite>>> = {
  start: {
    label: 'Start an export',
    question: null,
    async run(reader, { org, domain }, { form }) {
      const { taskQueue, handover, askWorker } = reader.setting;
      const client = await reader.connections.temporal();
      const parameters = form.get('force') === 'yes' ? { force: true } : {};
      const input = { org, domain, parameters, handover };
      const { joined } = await askWorker(client, () => startExport(client, taskQueue, input, 'join'));
      return joined ? `An export of ${domain} is already running.` : `The export of ${domain} has started.`;
    },
  },
  'poll-now': {
    label: 'Poll now',
    question: null,
    async run(reader, { org, domain }) {
      const client = await reader.connections.temporal();
      await reader.setting.askWorker(client, () => pollNow(client, org, domain));
      return `The service is asked about ${domain} now.`;
    },
  },
  approve: {
    label: 'Approve',
    question: null,
    async run(reader, { org, domain }, { id, form, login }) {
      const client = await reader.connections.temporal();
      const asked = { org, domain, version: required(form, 'version') };
      const { version } = await reader.setting.askWorker(client, () =>
        approveExport(client, asked, { who: login }, id),
      );
      return `Approved: ${version} goes into service.`;
    },
  },
  reject: {
    label: 'Reject',
    question: ({ domain }, form) => `${form.get('version') ?? 'The version'} of ${domain} will be removed for good.`,
    async run(reader, { org, domain }, { id, form, login }) {
      const client = await reader.connections.temporal();
      const reason = reasonIn(form, longestReason) ?? '';
      const asked = { org, domain, reason, version: required(form, 'version') };
      const { version } = await reader.setting.askWorker(client, () => rejectExport(client, asked, { who: login }, id));
      return `Rejected: ${version} is removed.`;
    },
  },
  rollback: {
    label: 'Roll back',
    question: ({ domain }, form) =>
      `${form.get('version') ?? 'The version'} of ${domain} goes into service, and the site is held there until it is released.`,
    async run(reader, { org, domain }, { form }) {
      const version = required(form, 'version');
      const store = await reader.connections.bundles();
      const requireVersion = async () => {
        await store.manifest(domain, version);
      };
      await requireVersion();
      const { taskQueue, handover, askWorker } = reader.setting;
      const client = await reader.connections.temporal();
      const input = { org, domain, version, reason: reasonIn(form, longestReason), handover };
      const { joined } = await startRollback(client, taskQueue, input, {
        onRunning: 'refuse',
        beforeCancel: requireVersion,
        askWorker: (ask) => askWorker(client, ask),
      });
      return joined ? `This rollback of ${domain} is already running.` : `Rolling ${domain} back to ${version}.`;
    },
  },
  hold: {
    label: 'Hold',
    question: null,
    async run(reader, { domain }, { form }) {
      const store = await reader.connections.bundles();
      const reason = reasonIn(form, longestReason);
      const { version } = await store.holds.place(domain, { version: null, reason, at: new Date() });
      return `${domain} is held at ${version}.`;
    },
  },
  release: {
    label: 'Release',
    question: null,
    async run(reader, { domain }) {
      const store = await reader.connections.bundles();
      const released = await store.holds.release(domain);
      if (released === null) throw new ConsoleFailure('NotHeld', `${domain} is not held any more`);
      const next =
        released.waiting === null
          ? 'The next export decides what is in service.'
          : `${released.waiting} waited: start an export to put what is new into service.`;
      return `${domain} is no longer held at ${released.version}. ${next}`;
    },
  },
  cancel: {
    label: 'Cancel the export',
    question: ({ domain }) => `The running export of ${domain} ends; what is in service stays.`,
    async run(reader, { org, domain }, { form }) {
      await cancelRun(reader, exportWorkflowId(org, domain), required(form, 'run'), `export of ${domain}`);
      return `Cancelling the export of ${domain}.`;
    },
  },
};

/** Cancels the run that the page showed, and no later one. */
export async function cancelRun(reader: ConsoleReader, workflowId: string, runId: string, what: string): Promise<void> {
  const client = await reader.connections.temporal();
  const handle = client.workflow.getHandle(workflowId, runId);
  const { status } = await handle.describe();
  if (status.name !== 'RUNNING') throw new ConsoleFailure('NotRunning', `this ${what} has already ended`);
  await handle.cancel();
}

/** The version that waits at a site; null when none does. */
export async function waitingVersion(reader: ConsoleReader, { org, domain }: KnownSite): Promise<string | null> {
  const client = await reader.connections.temporal();
  const described = await exportHandle(client, org, domain).describe();
  if (described.status.name !== 'RUNNING') return null;
  const { approval } = await reader.setting.askWorker(client, () => exportState(client, org, domain));
  return approval?.version ?? null;
}
