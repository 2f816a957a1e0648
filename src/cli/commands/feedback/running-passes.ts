import { runningWork } from '../../../temporal/running-work.ts';
import { syncHandle, syncState } from '../../../operations/syncs.ts';
import { type ReadingKind, readingKinds } from '../../../feedback/rules/pass-kind.ts';
import type { SyncState } from '../../../feedback/rules/sync.ts';
import type { FoundProject } from '../../find-configured.ts';
import { describeWorkflow } from '../../running-workflow.ts';
import type { Session } from '../../session.ts';
import { answersOrNull } from '../../worker-watch.ts';

export interface RunningPass {
  org: string;
  project: string;
  workflowId: string;
  runId: string;
  pass: ReadingKind;
  /** Null when no worker answers. */
  state: SyncState | null;
}

type ListedPass = Omit<RunningPass, 'state'>;

/**
 * The running passes of these projects, with what they say. The passes of a single project are described, since Temporal's
 * list is a moment behind; those of several come from one list.
 */
export async function runningPasses(session: Session, projects: readonly FoundProject[]): Promise<RunningPass[]> {
  const { client, config } = session;
  const [only, ...others] = projects;
  const found =
    only && others.length === 0 ? await describedPasses(session, only) : await listedPasses(session, projects);
  const states = await answersOrNull(client, config.temporal.taskQueue, found, (pass) => syncState(client, pass));
  return found.map((pass, place) => ({ ...pass, state: states[place] ?? null }));
}

async function describedPasses({ client }: Session, { org, project }: FoundProject): Promise<ListedPass[]> {
  const described = await Promise.all(
    readingKinds.map(async (pass): Promise<ListedPass[]> => {
      const handle = syncHandle(client, { org, project, pass });
      const description = await describeWorkflow(handle);
      if (description?.status.name !== 'RUNNING') return [];
      return [{ org, project, workflowId: handle.workflowId, runId: description.runId, pass }];
    }),
  );
  return described.flat();
}

async function listedPasses({ client, config }: Session, projects: readonly FoundProject[]): Promise<ListedPass[]> {
  const wanted = new Set(projects.map(({ org, project }) => JSON.stringify([org, project])));
  const running = await runningWork(client, config.temporal.taskQueue);
  return running
    .flatMap(({ target, workflowId, runId }): ListedPass[] => {
      if (target.kind !== 'sync' || !wanted.has(JSON.stringify([target.org, target.project]))) return [];
      const { org, project, pass } = target;
      return [{ org, project, workflowId, runId, pass }];
    })
    .sort((a, b) => readingKinds.indexOf(a.pass) - readingKinds.indexOf(b.pass));
}
