import { type ReadingKind, readingKinds } from '../../feedback/rules/pass-bounds.ts';
import { startOrJoinSync } from '../../operations/syncs.ts';
import { type OwnAuditEntry, startedPass } from '../../runs/rules/own-audit-entries.ts';
import { ConsoleFailure, required } from '../console-failure.ts';
import type { ConsoleReader, KnownProject } from '../readings/console-reader.ts';
import type { Action } from './action.ts';
import { audited } from './action.ts';
import { cancelRun } from './site-actions.ts';

/** What can be done with a project. */
export const projectActions: Readonly<Record<string, Action<KnownProject>>> = {
  sync: {
    label: 'Sync now',
    question: null,
    async run(reader, project, order) {
      const { pass, auditEntries } = await syncNow(reader, project, order.form.get('pass') ?? '');
      return audited(reader, order, auditEntries, `The ${pass} of ${project.project} is running.`);
    },
  },
  cancel: {
    label: (form) => `Cancel the ${form.get('pass') ?? 'pass'}`,
    question: ({ project }, form) =>
      `The running ${form.get('pass') ?? 'pass'} of ${project} ends; what it has stored stays.`,
    async run(reader, { org, project }, order) {
      const pass = passOf(required(order.form, 'pass'));
      const target = { kind: 'sync' as const, org, project, pass };
      const entry = await cancelRun(reader, target, required(order.form, 'run'), `${pass} of ${project}`);
      return audited(reader, order, [entry], `Cancelling the ${pass} of ${project}.`);
    },
  },
};

/** Starts a pass, or joins the running one; without a kind a sweep if there has been none, else an incremental one. */
export async function syncNow(
  reader: ConsoleReader,
  { org, project }: KnownProject,
  kind: string,
): Promise<{ pass: ReadingKind; auditEntries: OwnAuditEntry[] }> {
  const { taskQueue, failover } = reader.setting;
  const pass = kind === '' ? await usualPass(reader, org, project) : passOf(kind);
  if (pass === 'verify') throw new ConsoleFailure('InvalidInput', 'passes of kind verify start by themselves');
  const client = await reader.connections.temporal();
  const input = { org, project, pass, class: 'on-demand' as const, failover };
  const { runId } = await startOrJoinSync(client, taskQueue, input);
  return { pass, auditEntries: startedPass(input, runId) };
}

async function usualPass(reader: ConsoleReader, org: string, project: string): Promise<'incremental' | 'sweep'> {
  return (await (await reader.connections.feedback()).everSwept(org, project)) ? 'incremental' : 'sweep';
}

function passOf(text: string): ReadingKind {
  const pass = readingKinds.find((kind) => kind === text);
  if (pass === undefined) throw new ConsoleFailure('InvalidInput', 'there is no such kind of pass');
  return pass;
}
