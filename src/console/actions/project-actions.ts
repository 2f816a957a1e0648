import { startSync } from '../../client/syncs.ts';
import { type ReadingKind, readingKinds } from '../../model/sync/pass-kind.ts';
import { syncWorkflowId } from '../../model/workflow-ids.ts';
import type { ConsoleReader, KnownProject } from '../readings/console-reader.ts';
import type { Action } from './action.ts';
import { ConsoleFailure, required } from './console-failure.ts';
import { cancelRun } from './site-actions.ts';

/** What can be done with a project. */
export const projectActions: Readonly<Record<string, Action<KnownProject>>> = {
  sync: {
    label: 'Sync now',
    question: null,
    run: (reader, project, { form }) => syncNow(reader, project, form.get('pass') ?? ''),
  },
  cancel: {
    label: 'Cancel the pass',
    question: ({ project }, form) =>
      `The running ${form.get('pass') ?? 'pass'} of ${project} ends; what it has stored stays.`,
    async run(reader, { org, project }, { form }) {
      const pass = passOf(required(form, 'pass'));
      await cancelRun(reader, syncWorkflowId(org, project, pass), required(form, 'run'), `${pass} of ${project}`);
      return `Cancelling the ${pass} of ${project}.`;
    },
  },
};

/** Starts a pass, or joins the running one; without a kind a sweep if there has been none, else an incremental one. */
export async function syncNow(reader: ConsoleReader, { org, project }: KnownProject, kind: string): Promise<string> {
  const { taskQueue, handover } = reader.setting;
  const pass = kind === '' ? await usualPass(reader, org, project) : passOf(kind);
  if (pass === 'verify') throw new ConsoleFailure('InvalidInput', 'passes of kind verify start by themselves');
  const client = await reader.connections.temporal();
  await startSync(client, taskQueue, { org, project, pass, class: 'on-demand', handover });
  return `The ${pass} of ${project} runs.`;
}

async function usualPass(reader: ConsoleReader, org: string, project: string): Promise<'incremental' | 'sweep'> {
  return (await (await reader.connections.feedback()).everSwept(org, project)) ? 'incremental' : 'sweep';
}

function passOf(text: string): ReadingKind {
  const pass = readingKinds.find((kind) => kind === text);
  if (pass === undefined) throw new ConsoleFailure('InvalidInput', 'there is no such kind of pass');
  return pass;
}
