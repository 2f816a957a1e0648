import type { InService } from '../exports/store/bundle-store.ts';
import { passKinds } from '../feedback/rules/pass-bounds.ts';
import { type ScheduleTarget, workflowIdOf } from '../rules/workflow-ids.ts';
import { callsAtOnce, inBatches, type RunningWork } from '../temporal/runs.ts';
import { waitingVersion } from './exports.ts';
import type { Installation } from './installation.ts';
import type { Project, Site } from './operator.ts';

/** What an operation on many would do, and what of the selected it would skip. */
export interface Plan<Item> {
  items: Item[];
  skipped: { item: Item; why: string }[];
}

/** How it went with one of many. */
export type Ended<Item, Answer> = { item: Item } & ({ ok: true; answer: Answer } | { ok: false; error: unknown });

export type RunningById = ReadonlyMap<string, Pick<RunningWork, 'phase' | 'runId'>>;

export const exportOf = ({ org, domain }: Site): ScheduleTarget & { kind: 'export' } => ({
  kind: 'export',
  org,
  domain,
});

/** Everything that may run for a project. */
export const passesOf = ({ org, project }: Project) =>
  passKinds.map((pass) => ({ kind: 'sync' as const, org, project, pass }));

/** The run under the id of a site's exports or of a pass; undefined when none is running. */
export const runIdOf = (running: RunningById, target: ScheduleTarget): string | undefined =>
  running.get(workflowIdOf(target))?.runId;

export const runs = (running: RunningById, target: ScheduleTarget): boolean => runIdOf(running, target) !== undefined;

/** Does the work for each, a few at a time by default: a failure of one stops no other. After an abort nothing else begins. */
export async function forEach<Item, Answer>(
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
  signal?: AbortSignal,
  atOnce = callsAtOnce,
): Promise<{ ended: Ended<Item, Answer>[]; notBegun: Item[] }> {
  const notBegun: Item[] = [];
  const all = await inBatches(items, atOnce, async (item): Promise<Ended<Item, Answer>[]> => {
    if (signal?.aborted) {
      notBegun.push(item);
      return [];
    }
    try {
      return [{ item, ok: true, answer: await work(item) }];
    } catch (error) {
      return [{ item, ok: false, error }];
    }
  });
  return { ended: all.flat(), notBegun };
}

/** Keeps what fits, and skips the rest with the reason that `whyNot` gives. */
function planOf<Item>(selected: readonly Item[], whyNot: (item: Item) => string | null): Plan<Item> {
  const checked = selected.map((item) => ({ item, why: whyNot(item) }));
  return {
    items: checked.flatMap(({ item, why }) => (why === null ? [item] : [])),
    skipped: checked.flatMap(({ item, why }) => (why === null ? [] : [{ item, why }])),
  };
}

export function planCancel(sites: readonly Site[], running: RunningById): Plan<Site> {
  return planOf(sites, (site) => (runs(running, exportOf(site)) ? null : 'without a running export'));
}

/** The versions that wait, as they are now: an approval of the plan approves none that comes later. */
export async function planApprovals<Selected extends Site>(
  installation: Installation,
  sites: readonly Selected[],
  running: RunningById,
): Promise<Plan<Selected & { version: string | null }>> {
  // Temporal's list shows a phase a moment late, so every running export is asked.
  const { ended } = await forEach(sites, async (site) =>
    runs(running, exportOf(site)) ? waitingVersion(installation, site) : null,
  );
  const plan: Plan<Selected & { version: string | null }> = { items: [], skipped: [] };
  for (const one of ended) {
    if (one.ok && one.answer !== null) plan.items.push({ ...one.item, version: one.answer });
    else {
      const why = one.ok
        ? 'without a waiting version'
        : `it cannot be asked: ${one.error instanceof Error ? one.error.message : one.error}`;
      plan.skipped.push({ item: { ...one.item, version: null }, why });
    }
  }
  return plan;
}

/** The sites to hold, or to release. A hold keeps what is in service when it is placed, which may be newer than the plan. */
export async function planHolds<Selected extends Site>(
  installation: Installation,
  kind: 'hold' | 'release',
  sites: readonly Selected[],
): Promise<Plan<Selected & InService>> {
  const store = await installation.bundles();
  const found = await store.inService(sites.map(({ domain }) => domain));
  const nothing = { current: null, held: null };
  const known = sites.map((site) => ({ ...site, ...(found.get(site.domain) ?? nothing) }));
  if (kind === 'release') return planOf(known, ({ held }) => (held === null ? 'not held' : null));
  return planOf(known, ({ current, held }) => {
    if (held !== null) return 'held already';
    return current === null ? 'without a published version' : null;
  });
}
