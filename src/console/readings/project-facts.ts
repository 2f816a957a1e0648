import type { WindowSettings, WindowView } from '../../budget/rules/permits.ts';
import type { StoredProject } from '../../feedback/figures/figure-store.ts';
import { type ReadingKind, readingKinds } from '../../feedback/rules/pass-bounds.ts';
import type { SyncState } from '../../feedback/rules/sync.ts';
import type { Installation } from '../../operations/installation.ts';
import type { Trouble } from '../../operations/status.ts';
import { syncHandle, syncState } from '../../operations/syncs.ts';
import { type Retry, retriesIn } from '../../temporal/connection.ts';
import type { ConsoleSetting } from '../console-setting.ts';
import { readBudget } from './budget-facts.ts';
import { readerNoting } from './shared-reading.ts';

/** A pass that runs. */
export interface RunningPass {
  pass: ReadingKind;
  runId: string;
  /** Null when no worker answers. */
  state: SyncState | null;
  retries: Retry[];
}

/** Everything on a project's page; null for a part that does not answer. */
export interface ProjectFacts {
  running: RunningPass[] | null;
  stored: StoredProject | null;
  /** Of the organization that has the project. */
  budget: WindowView | null;
  troubles: Trouble[];
}

const shownPasses = 20;

export async function readProject(
  setting: ConsoleSetting,
  installation: Installation,
  { org, project, budget: configured }: { org: string; project: string; budget: WindowSettings },
): Promise<ProjectFacts> {
  const troubles: Trouble[] = [];
  const read = readerNoting(troubles, setting);
  const [running, stored, budget] = await Promise.all([
    read(async () => {
      const passes = await Promise.all(
        readingKinds.map((pass) => readPass(setting, installation, { org, project, pass })),
      );
      return passes.filter((pass) => pass !== null);
    }),
    read(async () => {
      const [stored] = await (await installation.feedback()).storedProjects([{ org, project }], shownPasses);
      return stored ?? null;
    }),
    readBudget(setting, installation, { org, budget: configured }),
  ]);
  if (budget.trouble !== null && running !== null) troubles.push(budget.trouble);
  return { running, stored, budget: budget.view, troubles };
}

async function readPass(
  setting: ConsoleSetting,
  installation: Installation,
  input: { org: string; project: string; pass: ReadingKind },
): Promise<RunningPass | null> {
  const client = await installation.temporal();
  const described = await syncHandle(client, input)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof Error && error.name === 'WorkflowNotFoundError') return null;
      throw error;
    });
  if (described?.status.name !== 'RUNNING') return null;
  const state = await setting.askWorker(client, () => syncState(client, input)).catch(() => null);
  return { pass: input.pass, runId: described.runId, state, retries: retriesIn(described) };
}
