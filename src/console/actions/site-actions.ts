import type { Client } from '@temporalio/client';
import { longestReason } from '../../exports/rules/site-export.ts';
import type { AuditRecords } from '../../feedback/store/audit-records.ts';
import {
  approveExport,
  exportHandle,
  exportState,
  pollNow,
  rejectExport,
  startExport,
  startRollback,
} from '../../operations/exports.ts';
import { type ScheduleTarget, workflowIdOf } from '../../rules/workflow-ids.ts';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import { cancelledRun, doneBy, type OwnAuditEntry, startedExport } from '../../runs/rules/own-audit-entries.ts';
import { ConsoleFailure, reasonIn, required } from '../console-failure.ts';
import type { ConsoleReader, KnownSite } from '../readings/console-reader.ts';
import { type Action, audited } from './action.ts';

/**
 * Decides about a version. If it no longer waits, because another person has decided or its time is over, throws a
 * failure that says so and, if the audit knows, who decided.
 */
export async function decide<Answer>(
  reader: ConsoleReader,
  site: KnownSite,
  version: string,
  { ask, waits }: { ask(): Promise<Answer>; waits(): Promise<boolean> },
): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    const { code } = reader.setting.explain(error);
    if ((code !== 'NotRunning' && code !== 'InvalidInput') || (await waits())) throw error;
    const earlier = await decisionOn(await reader.connections.feedback(), site, version).catch(() => null);
    const what = `${version} of ${site.domain}`;
    const message =
      earlier === null
        ? `${what} does not wait for approval any more`
        : `${what} was ${earlier.action === 'approve' ? 'approved' : 'rejected'} by ${earlier.who} at ${utcText(earlier.at)}`;
    throw new ConsoleFailure(
      'Decided',
      `${message}. You changed nothing.`,
      'The page of the site shows what is in service.',
    );
  }
}

/** `2026-11-22 18:07 UTC`, of UTC ISO 8601. */
const utcText = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`;

async function decisionOn(
  store: AuditRecords,
  { org, domain }: KnownSite,
  version: string,
): Promise<AuditEntry | null> {
  for await (const entry of store.listAuditEntries({ org, subject: domain })) {
    const isDecision = entry.action === 'approve' || entry.action === 'reject';
    if (isDecision && JSON.parse(entry.detail).version === version) return entry;
  }
  return null;
}

/** What can be done with a site, by the last part of the address. Each does what the command of its name does. */
export const siteActions: Readonly<Record<string, Action<KnownSite>>> = {
  start: {
    label: 'Start an export',
    question: null,
    async run(reader, { org, domain }, order) {
      const { taskQueue, failover, askWorker } = reader.setting;
      const client = await reader.connections.temporal();
      const { form } = order;
      const parameters = form.get('force') === 'yes' ? { force: true } : {};
      const input = { org, domain, parameters, failover };
      const { runId } = await askWorker(client, () => startExport(client, taskQueue, input, 'join'));
      if (runId === null) return `An export of ${domain} is already running.`;
      const auditEntries = startedExport(org, domain, runId, parameters);
      return audited(reader, order, auditEntries, `The export of ${domain} has started.`);
    },
  },
  'poll-now': {
    label: 'Poll now',
    question: null,
    async run(reader, site, order) {
      const { org, domain } = site;
      const client = await reader.connections.temporal();
      await reader.setting.askWorker(client, () => pollNow(client, org, domain));
      const entry = doneBy(order.request, 'poll-now', exportOf(site));
      return audited(reader, order, [entry], `docferry asks the service about ${domain} now.`);
    },
  },
  approve: {
    label: 'Approve',
    question: null,
    async run(reader, site, { id, form, login }) {
      const asked = { ...idsOf(site), version: required(form, 'version') };
      const { version } = await decided(reader, site, asked.version, (client) =>
        approveExport(client, asked, { who: login }, id),
      );
      return `Approved: ${version} goes into service.`;
    },
  },
  reject: {
    label: 'Reject',
    question: ({ domain }, form) => `${form.get('version') ?? 'The version'} of ${domain} will be removed for good.`,
    async run(reader, site, { id, form, login }) {
      const reason = reasonIn(form, longestReason) ?? '';
      const asked = { ...idsOf(site), reason, version: required(form, 'version') };
      const { version } = await decided(reader, site, asked.version, (client) =>
        rejectExport(client, asked, { who: login }, id),
      );
      return `Rejected: ${version} is removed.`;
    },
  },
  rollback: {
    label: 'Roll back',
    question: ({ domain }, form) =>
      `${form.get('version') ?? 'The version'} of ${domain} goes into service at every target. Then the site is held: exports put nothing else into service until a person ends the hold.`,
    async run(reader, { org, domain }, { form, login }) {
      const version = required(form, 'version');
      const store = await reader.connections.bundles();
      const requireVersion = async () => {
        await store.manifest(domain, version);
      };
      await requireVersion();
      const { taskQueue, failover, askWorker } = reader.setting;
      const client = await reader.connections.temporal();
      const input = { org, domain, version, reason: reasonIn(form, longestReason), who: login, failover };
      const { joined } = await startRollback(client, taskQueue, input, {
        onRunning: 'refuse',
        beforeCancel: requireVersion,
        askWorker: (ask) => askWorker(client, ask),
      });
      return joined
        ? `This rollback of ${domain} is already running.`
        : `The rollback of ${domain} to ${version} has started.`;
    },
  },
  hold: {
    label: 'Hold',
    question: null,
    async run(reader, site, order) {
      const { domain } = site;
      const reason = reasonIn(order.form, longestReason);
      const store = await reader.connections.bundles();
      const { version } = await store.holds.place(domain, { version: null, reason, at: new Date() });
      const entry = doneBy(order.request, 'hold', exportOf(site), { version });
      return audited(reader, order, [entry], `${domain} is held at ${version}.`);
    },
  },
  release: {
    label: 'Release',
    question: null,
    async run(reader, site, order) {
      const { domain } = site;
      const store = await reader.connections.bundles();
      const released = await store.holds.release(domain);
      if (released === null) throw new ConsoleFailure('NotHeld', `${domain} is not held any more`);
      const next =
        released.waiting === null
          ? 'The next export decides what is in service.'
          : `${released.waiting} waited: start an export to put what is new into service.`;
      const entry = doneBy(order.request, 'release', exportOf(site), { version: released.version });
      return audited(reader, order, [entry], `${domain} is no longer held at ${released.version}. ${next}`);
    },
  },
  cancel: {
    label: (form) => `Cancel the ${runIn(form)}`,
    question: ({ domain }, form) => {
      const version = form.get('rollback');
      return `The running ${runIn(form)} of ${domain}${version === null ? '' : ` to ${version}`} ends; what is in service stays.`;
    },
    async run(reader, site, order) {
      const what = `${runIn(order.form)} of ${site.domain}`;
      const entry = await cancelRun(reader, exportOf(site), required(order.form, 'run'), what);
      return audited(reader, order, [entry], `Cancelling the ${what}.`);
    },
  },
};

/** What runs of a site, by the form that cancels it: one of a rollback names its version. */
const runIn = (form: URLSearchParams): string => (form.has('rollback') ? 'rollback' : 'export');

/** Cancels the run that the page showed, and no later one. */
export async function cancelRun(
  reader: ConsoleReader,
  target: ScheduleTarget,
  runId: string,
  what: string,
): Promise<OwnAuditEntry> {
  const client = await reader.connections.temporal();
  const handle = client.workflow.getHandle(workflowIdOf(target), runId);
  const { status } = await handle.describe();
  if (status.name !== 'RUNNING') throw new ConsoleFailure('NotRunning', `this ${what} has already ended`);
  await handle.cancel();
  return cancelledRun(target, runId);
}

async function decided<Answer>(
  reader: ConsoleReader,
  site: KnownSite,
  version: string,
  ask: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const client = await reader.connections.temporal();
  return decide(reader, site, version, {
    ask: () => reader.setting.askWorker(client, () => ask(client)),
    waits: async () => (await waitingVersion(reader, site)) === version,
  });
}

const idsOf = ({ org, domain }: KnownSite) => ({ org, domain });
const exportOf = ({ org, domain }: KnownSite): ScheduleTarget => ({ kind: 'export', org, domain });

/** The version that waits at a site; null when none does. */
export async function waitingVersion(reader: ConsoleReader, { org, domain }: KnownSite): Promise<string | null> {
  const client = await reader.connections.temporal();
  const described = await exportHandle(client, org, domain).describe();
  if (described.status.name !== 'RUNNING') return null;
  const { approval } = await reader.setting.askWorker(client, () => exportState(client, org, domain));
  return approval?.version ?? null;
}
