import { type RunningWork, runningWork } from '../temporal/running-work.ts';
import { startOrJoinSync, syncHandle } from '../operations/syncs.ts';
import { handoverFor } from '../temporal/temporal-connection.ts';
import type { EntryStore } from '../feedback/store/entry-store.ts';
import { cancelledRun, startedPass } from '../runs/rules/own-audit-entries.ts';
import { type PassKind, type ReadingKind, readingKinds } from '../feedback/rules/pass-kind.ts';
import { syncWorkflowId } from '../rules/workflow-ids.ts';
import { type CommandContext, loadContextConfig } from './context.ts';
import type { ExitCode } from './exit-codes.ts';
import type { BulkFlags } from './bulk-flags.ts';
import { withFeedbackStore } from './feedback-store-of.ts';
import { requireRunning } from './running-workflow.ts';
import { type Session, withTemporal } from './session.ts';
import { selectedInBulk } from './is-bulk.ts';
import { runBulk } from './run-bulk.ts';

interface Pass<Kind extends ReadingKind = ReadingKind> {
  org: string;
  project: string;
  pass: Kind;
}

/** Starts a pass of many projects; one that runs is joined. */
export async function startSyncs(
  context: CommandContext,
  flags: BulkFlags & { pass?: PassKind },
  dates: { from?: string; to?: string },
  defaultPass: (store: EntryStore, org: string, project: string) => Promise<PassKind>,
): Promise<ExitCode> {
  return ofProjects(context, flags, async ({ client, config }, projects, running) => {
    const items = await withFeedbackStore(config, async (store) => {
      const passes: Pass<PassKind>[] = [];
      for (const { org, project } of projects) {
        passes.push({ org, project, pass: flags.pass ?? (await defaultPass(store, org, project)) });
      }
      return passes;
    });
    return runBulk(context, config, flags, {
      kind: 'projects',
      verb: 'start a pass of',
      done: 'started',
      items,
      left: [],
      lineOf: (item) => `${lineOf(item)}${running.has(idOf(item)) ? ' (already running)' : ''}`,
      work: async (item) => {
        const input = { ...item, class: 'on-demand' as const, ...dates, handover: handoverFor(config.temporal) };
        const { handle, joined, runId } = await startOrJoinSync(client, config.temporal.taskQueue, input);
        return { document: { workflowId: handle.workflowId, joined }, deeds: startedPass(item, runId) };
      },
    });
  });
}

/** Cancels the running passes of many projects, of one kind or of all. */
export async function cancelSyncs(
  context: CommandContext,
  flags: BulkFlags & { pass?: ReadingKind },
): Promise<ExitCode> {
  return ofProjects(context, flags, ({ client, config }, projects, running) => {
    const kinds = flags.pass === undefined ? readingKinds : [flags.pass];
    const passes = projects.flatMap((ids) => kinds.map((pass): Pass => ({ ...ids, pass })));
    return runBulk(context, config, flags, {
      kind: 'projects',
      verb: 'cancel the running passes of',
      done: 'cancelling',
      items: passes.filter((pass) => running.has(idOf(pass))),
      left: [],
      lineOf,
      work: async (pass) => {
        const handle = syncHandle(client, pass);
        const { runId } = await requireRunning(handle, `${pass.pass} of ${pass.project}`);
        await handle.cancel();
        const deeds = [cancelledRun({ kind: 'sync', ...pass }, runId)];
        return { document: { workflowId: handle.workflowId, cancelRequested: true }, deeds };
      },
    });
  });
}

async function ofProjects(
  context: CommandContext,
  flags: BulkFlags,
  work: (
    session: Session,
    projects: { org: string; project: string }[],
    running: ReadonlyMap<string, RunningWork>,
  ) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const projects = selectedInBulk(config, flags, 'projects');
  return withTemporal(config, async (session) => {
    const running = await runningWork(session.client, config.temporal.taskQueue);
    return work(session, projects, new Map(running.map((found) => [found.workflowId, found])));
  });
}

const idOf = ({ org, project, pass }: Pass): string => syncWorkflowId(org, project, pass);
const lineOf = ({ org, project, pass }: Pass): string => `${org}/${project}  ${pass}`;
