import { WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../../budget/client.ts';
import type { WindowSettings } from '../../budget/rules/permits.ts';
import { untouchedView, type WindowView } from '../../budget/rules/window-view.ts';
import { observedText } from '../../exports/rules/rollout-steps.ts';
import type { ExportState } from '../../exports/rules/site-export.ts';
import type { BundleStore, ObservedTarget, PublishedVersion, SiteHold } from '../../exports/store/bundle-store.ts';
import type { StoredProject } from '../../feedback/figures/project-figures.ts';
import { type PassKind, passKinds } from '../../feedback/rules/pass-bounds.ts';
import type { ExpectedDelays, ProjectDelays } from '../../feedback/rules/refresh/expected.ts';
import type { SyncState } from '../../feedback/rules/sync.ts';
import type { ExportRunRow } from '../../feedback/store/run-records.ts';
import { describeWorkflow, exportHandle, exportState, withFailedStart } from '../../operations/exports.ts';
import type { Installation } from '../../operations/installation.ts';
import type { Project, Site } from '../../operations/operator.ts';
import type { Trouble } from '../../operations/status.ts';
import { syncHandle, syncState } from '../../operations/syncs.ts';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import { type Retry, retriesIn } from '../../temporal/connection.ts';
import { callsAtOnce, inBatches } from '../../temporal/runs.ts';
import type { ConsoleSetting } from '../console-setting.ts';
import type { Drift } from './overview-filter.ts';

/** A site as the configuration has it. */
export interface KnownSite extends Site {
  targets: readonly string[];
}

export interface KnownProject extends Project {
  name: string | null;
  /** As configured. */
  budget: WindowSettings;
}

/** What runs of a site. */
interface RunningExport {
  runId: string;
  /** Null when no worker answers. */
  state: ExportState | null;
  retries: Retry[];
}

/** What the bundle store has of a site. */
export interface StoredSite {
  current: string | null;
  /** Address of the version in service. */
  url: string | null;
  hold: SiteHold | null;
  versions: PublishedVersion[];
  /** What each target was given last, null for nothing yet, and what the watch has read back; null before a look. */
  targets: { name: string; version: string | null; seen: ObservedTarget | null }[];
}

/** Everything on a site's page; null for a part that does not answer. */
export interface SiteFacts {
  running: RunningExport | null;
  stored: StoredSite | null;
  runs: ExportRunRow[] | null;
  /** What people did by hand, newest first. */
  auditEntries: AuditEntry[] | null;
  troubles: Trouble[];
}

const shownRuns = 20;
const shownAuditEntries = 20;

/** Reads one part of a page: null, with its trouble noted, for what cannot be read, so that the others are shown. */
function readerNoting(troubles: Trouble[], { explain }: Pick<ConsoleSetting, 'explain'>) {
  return async <Found>(ask: () => Promise<Found>): Promise<Found | null> => {
    try {
      return await ask();
    } catch (error) {
      troubles.push(explain(error));
      return null;
    }
  };
}

export async function readSite(
  setting: ConsoleSetting,
  installation: Installation,
  site: KnownSite,
): Promise<SiteFacts> {
  const troubles: Trouble[] = [];
  const read = readerNoting(troubles, setting);
  const [running, stored, runs, auditEntries] = await Promise.all([
    read(() => readRunning(setting, installation, site, troubles)),
    read(async () => readStored(await installation.bundles(), site)),
    read(async () =>
      (await installation.feedback()).listExportRuns({ org: site.org, domain: site.domain, limit: shownRuns }),
    ),
    // Reports an unavailable store once.
    feedbackAuditEntries(installation, site).catch(() => null),
  ]);
  return { running, stored, runs, auditEntries, troubles };
}

async function readRunning(
  setting: ConsoleSetting,
  installation: Installation,
  { org, domain }: Site,
  troubles: Trouble[],
): Promise<RunningExport | null> {
  const client = await installation.temporal();
  const described = await describeWorkflow(exportHandle(client, org, domain));
  if (described?.status.name !== 'RUNNING') return null;
  const running = { runId: described.runId, retries: await retriesIn(client, described) };
  try {
    const state = await setting.askWorker(client, () => exportState(client, org, domain));
    return { ...running, retries: withFailedStart(running.retries, state), state };
  } catch (error) {
    troubles.push(setting.explain(error));
    return { ...running, state: null };
  }
}

async function readStored(store: BundleStore, { domain, targets }: KnownSite): Promise<StoredSite> {
  const [current, hold, versions, seen, rolledOut] = await Promise.all([
    store.current(domain),
    store.holds.of(domain),
    store.versions(domain),
    store.observed(domain),
    Promise.all(targets.map(async (name) => ({ name, version: await store.rolledOut(domain, name) }))),
  ]);
  const url = current === null ? null : store.urlOf(domain, await store.manifest(domain, current.version));
  return {
    current: current?.version ?? null,
    url,
    hold,
    versions,
    targets: rolledOut.map((target) => ({ ...target, seen: seen[target.name] ?? null })),
  };
}

/** Drift that the watch has seen: a target runs another version than was rolled out last. */
export async function driftedSites(store: BundleStore, sites: readonly KnownSite[]): Promise<Map<string, Drift>> {
  const drifts = new Map<string, Drift>();
  await inBatches(sites, callsAtOnce, async ({ domain, targets }) => {
    const seen = Object.entries(await store.observed(domain)).filter(([name]) => targets.includes(name));
    if (seen.length === 0) return;
    const current = (await store.current(domain))?.version ?? null;
    for (const [name, target] of seen) {
      const { runs, version, since } = target;
      if (current === null || runs === 'unknown' || version === current) continue;
      if ((await store.rolledOut(domain, name)) !== current) continue;
      drifts.set(domain, { current, reason: `${name} ${observedText(target)}`, since });
      return;
    }
  });
  return drifts;
}

async function feedbackAuditEntries({ feedback }: Installation, { org, domain }: Site): Promise<AuditEntry[]> {
  const auditEntries: AuditEntry[] = [];
  for await (const entry of (await feedback()).listAuditEntries({ org, subject: domain })) {
    auditEntries.push(entry);
    if (auditEntries.length === shownAuditEntries) break;
  }
  return auditEntries;
}

/** A pass that runs. */
interface RunningPass {
  pass: PassKind;
  runId: string;
  /** Null when no worker answers. */
  state: SyncState | null;
  retries: Retry[];
}

/** Everything on a project's page; null for a part that does not answer. */
export interface ProjectFacts {
  running: RunningPass[] | null;
  stored: StoredProject | null;
  delays: ProjectDelays | null;
  /** Of the organization that has the project. */
  budget: WindowView | null;
  troubles: Trouble[];
}

const shownPasses = 20;

/** `delaysWith` reads the project's delays, given the window of its organization. */
export async function readProject(
  setting: ConsoleSetting,
  installation: Installation,
  { org, project, budget: configured }: KnownProject,
  delaysWith: (window: WindowView) => Promise<ProjectDelays | null>,
): Promise<ProjectFacts> {
  const troubles: Trouble[] = [];
  const read = readerNoting(troubles, setting);
  const [running, stored, budget] = await Promise.all([
    read(async () => {
      const passes = await Promise.all(
        passKinds.map((pass) => readPass(setting, installation, { org, project, pass })),
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
  // Reports an unavailable store once.
  const delays = stored && (await read(() => delaysWith(budget.view ?? untouchedView(configured))));
  return { running, stored, delays, budget: budget.view, troubles };
}

async function readPass(
  setting: ConsoleSetting,
  installation: Installation,
  input: { org: string; project: string; pass: PassKind },
): Promise<RunningPass | null> {
  const client = await installation.temporal();
  const described = await describeWorkflow(syncHandle(client, input));
  if (described?.status.name !== 'RUNNING') return null;
  const state = await setting.askWorker(client, () => syncState(client, input)).catch(() => null);
  return { pass: input.pass, runId: described.runId, state, retries: await retriesIn(client, described) };
}

/** The window of an organization; null with the trouble when its budget does not answer. */
export interface OrganizationBudget {
  org: string;
  view: WindowView | null;
  /** How long after a change the refresh plan expects to read every project; null without a plan. */
  promised: ExpectedDelays | null;
  trouble: Trouble | null;
}

export async function readBudget(
  { askWorker, explain }: ConsoleSetting,
  installation: Installation,
  { org, budget }: { org: string; budget: WindowSettings },
): Promise<OrganizationBudget> {
  try {
    const client = await installation.temporal();
    const view = await askWorker(client, () => budgetView(client, org));
    return { org, view, promised: null, trouble: null };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      return { org, view: untouchedView(budget), promised: null, trouble: null };
    return { org, view: null, promised: null, trouble: explain(error) };
  }
}
