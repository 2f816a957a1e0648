import { WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../../budget/client.ts';
import type { WindowSettings } from '../../budget/rules/permits.ts';
import { untouchedView, type WindowView } from '../../budget/rules/window-view.ts';
import { observedText } from '../../exports/rules/rollout-steps.ts';
import type { ExportState } from '../../exports/rules/site-export.ts';
import {
  type BundleStore,
  type ObservedTarget,
  type PublishedVersion,
  RecordDamaged,
  type SiteHold,
} from '../../exports/store/bundle-store.ts';
import type { VersionChanges } from '../../exports/verify/compare-pages.ts';
import type { StoredProject } from '../../feedback/figures/project-figures.ts';
import type { ExpectedDelays, ProjectDelays } from '../../feedback/rules/refresh/expected.ts';
import { type PassKind, passKinds, type SyncState } from '../../feedback/rules/sync.ts';
import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import type { ExportRunRow } from '../../feedback/store/run-records.ts';
import { describeWorkflow, exportHandle, exportState, withFailedStart } from '../../operations/exports.ts';
import { type EndedRuns, endedRuns } from '../../operations/history.ts';
import { Installation } from '../../operations/installation.ts';
import type { Project, Site } from '../../operations/operator.ts';
import {
  damagedRecords,
  type Facts,
  factSources,
  gatherFacts,
  type Selection,
  type Trouble,
  type Unavailable,
} from '../../operations/status.ts';
import { syncHandle, syncState } from '../../operations/syncs.ts';
import type { ScheduleTarget } from '../../rules/workflow-ids.ts';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import { isConfigured } from '../../schedules/rules/desired-schedules.ts';
import { Semaphore } from '../../semaphore.ts';
import { type Retry, retriesIn } from '../../temporal/connection.ts';
import { callsAtOnce, inBatches } from '../../temporal/runs.ts';
import type { ConsoleSetting, ShownOrganization } from '../console-setting.ts';
import { type AuditFacts, type AuditQuery, readAudit } from './audit-query.ts';
import { feedbackReadings } from './feedback-readings.ts';
import type { Drift } from './overview-filter.ts';
import { ReadingLate, Readings, type ReadingTimes, SharedReading, usualTimes } from './shared-reading.ts';

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
/** A page comes without the state that no worker tells by then. */
const answerWithinMs = 8_000;
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

async function readSite(setting: ConsoleSetting, installation: Installation, site: KnownSite): Promise<SiteFacts> {
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
    const state = await setting.askWorker(client, () => exportState(client, org, domain), answerWithinMs);
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

/** By domain. */
interface Drifts {
  drifts: ReadonlyMap<string, Drift>;
  /** Sites whose records cannot be read: nobody knows whether they have drifted. */
  damaged: ReadonlyMap<string, Error>;
}

/** Drift that the watch has seen: a target runs another version than was rolled out last. */
async function driftedSites(store: BundleStore, sites: readonly KnownSite[]): Promise<Drifts> {
  const drifts = new Map<string, Drift>();
  const damaged = new Map<string, Error>();
  const look = async ({ domain, targets }: KnownSite): Promise<void> => {
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
  };
  await inBatches(sites, callsAtOnce, (site) =>
    look(site).catch((error: unknown) => {
      if (!(error instanceof RecordDamaged)) throw error;
      damaged.set(site.domain, error);
    }),
  );
  return { drifts, damaged };
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
async function readProject(
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
  const state = await setting.askWorker(client, () => syncState(client, input), answerWithinMs).catch(() => null);
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

async function readBudget(
  { askWorker, explain }: ConsoleSetting,
  installation: Installation,
  { org, budget }: { org: string; budget: WindowSettings },
): Promise<OrganizationBudget> {
  try {
    const client = await installation.temporal();
    const view = await askWorker(client, () => budgetView(client, org), answerWithinMs);
    return { org, view, promised: null, trouble: null };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      return { org, view: untouchedView(budget), promised: null, trouble: null };
    return { org, view: null, promised: null, trouble: explain(error) };
  }
}

/** All entries are counted, so this is read more rarely than the rest. */
const chartsFreshMs = 60_000;
/** A page comes without its charts, which follow. */
const firstMs = 1_500;
const mostCharts = 50;
/** Rows that the history reads of each sort: a week of a thousand hourly sites has 168,000, seconds of work. */
const mostEnded = 5_000;

/** The report's charts of projects as HTML, without what people wrote; drawn again only when the figures have changed. */
export function projectCharts(feedback: () => Promise<FeedbackStore>, times: ReadingTimes) {
  const readerOf = ({ org, project }: { org: string; project: string }) => {
    let drawn = { figures: '', charts: '' };
    return async (): Promise<string> => {
      const figures = await (await feedback()).reportFigures({ org, project, comments: 0, now: new Date() });
      const text = JSON.stringify(figures);
      if (drawn.figures === text) return drawn.charts;
      // Loads the chart library, which no other page needs.
      const { chartsOf } = await import('../../feedback/report/report-page.ts');
      drawn = { figures: text, charts: await chartsOf(figures, 'feedback') };
      return drawn.charts;
    };
  };
  return new Readings(readerOf, { ...times, freshMs: chartsFreshMs, firstMs }, mostCharts);
}

/** Reads all of an organization's refresh pages, so it runs seldom. */
const delaysFreshMs = 60_000;

/** Versions never change, but retention removes them. */
const changesFreshMs = 600_000;
const longestMs = 60_000;
const mostChanges = 20;

/** What versions change against each other, compared one at a time; `from` is null when nothing is in service. */
function versionComparisons(bundles: () => Promise<BundleStore>, times: ReadingTimes) {
  const slots = new Semaphore(1);
  const readerOf =
    (asked: { domain: string; from: string | null; to: string }) => async (): Promise<VersionChanges> => {
      const signal = AbortSignal.timeout(longestMs);
      return slots.use(signal, async () => {
        // Loads a reader of HTML, which no other page needs.
        const { compareVersions } = await import('../../exports/verify/compare-pages.ts');
        return compareVersions(await bundles(), asked.domain, asked, { signal });
      });
    };
  return new Readings(readerOf, { ...times, freshMs: changesFreshMs }, mostChanges);
}

export interface OverviewFacts {
  facts: Facts;
  unavailable: Unavailable[];
  /** Sites with a drifted target, by domain. */
  drifts: ReadonlyMap<string, Drift>;
}

const driftUnknown = 'drifted targets';
/** Asks the store for each site, so it runs seldom, and the overview does not wait for its first result. */
const driftTimes: ReadingTimes = { freshMs: 120_000, maxWaitMs: 0, firstMs: 50 };

/** Pages of the audit: there are as many as people can ask for. */
const auditsKept = 100;

/** The readings of all pages, made once for all viewers, of configured sites and projects only. */
export class ConsoleReader {
  readonly setting: ConsoleSetting;
  readonly installation: Installation;
  readonly selection: Selection;
  readonly overview: SharedReading<OverviewFacts>;
  readonly budgets: SharedReading<OrganizationBudget[]>;
  readonly sites: Readings<KnownSite, SiteFacts>;
  readonly projects: Readings<KnownProject, ProjectFacts>;
  readonly audit: Readings<AuditQuery, AuditFacts>;
  /** What ended in so many last milliseconds, of all that is configured: the newest, where a busy week had more. */
  readonly history: Readings<number, EndedRuns>;
  readonly feedback: ReturnType<typeof feedbackReadings>;
  readonly changes: ReturnType<typeof versionComparisons>;
  readonly charts: ReturnType<typeof projectCharts>;
  readonly #knownSites: ReadonlyMap<string, KnownSite>;
  readonly #knownProjects: ReadonlyMap<string, KnownProject>;
  /** The latest of each organization: what delays are expected depends on it. */
  readonly #windows = new Map<string, WindowView>();
  readonly #delays: Readings<string, ReadonlyMap<string, ProjectDelays>>;
  readonly #drifts: SharedReading<Drifts>;

  constructor(setting: ConsoleSetting, times: ReadingTimes = usualTimes) {
    this.setting = setting;
    this.installation = new Installation(setting);
    const { feedback, bundles } = this.installation;
    const sites = setting.organizations.flatMap(sitesOf);
    const projects = setting.organizations.flatMap(projectsOf);
    this.#knownSites = new Map(sites.map((site) => [keyOf(site.org, site.domain), site]));
    this.#knownProjects = new Map(projects.map((project) => [keyOf(project.org, project.project), project]));
    this.selection = {
      sites: sites.map(({ org, domain }) => ({ org, domain })),
      projects: projects.map(({ org, project }) => ({ org, project })),
    };
    this.overview = new SharedReading(() => this.#readOverview(), times);
    this.budgets = new SharedReading(() => this.#readBudgets(), times);
    this.sites = new Readings((site) => () => readSite(setting, this.installation, site), times);
    this.projects = new Readings((project) => () => this.#readProject(project), times);
    this.audit = new Readings((query) => () => readAudit(this.installation, query), times, auditsKept);
    this.history = new Readings((sinceMs) => () => this.#readHistory(sinceMs), times);
    this.#delays = new Readings((org) => () => this.#readDelays(org), { ...times, freshMs: delaysFreshMs });
    const watched = sites.filter(({ targets }) => targets.length > 0);
    this.#drifts = new SharedReading(async () => driftedSites(await bundles(), watched), driftTimes);
    this.feedback = feedbackReadings(feedback, times);
    this.changes = versionComparisons(bundles, times);
    this.charts = projectCharts(feedback, times);
  }

  knownSite(org: string, domain: string): KnownSite | null {
    return this.#knownSites.get(keyOf(org, domain)) ?? null;
  }

  knownProject(org: string, project: string): KnownProject | null {
    return this.#knownProjects.get(keyOf(org, project)) ?? null;
  }

  /** Whether the site or project is in the configuration. */
  knows(target: ScheduleTarget): boolean {
    return isConfigured(this.setting.organizations, target);
  }

  /** Something was done: the next page reads again. */
  forget(): void {
    const all = [this.overview, this.budgets, this.sites, this.projects, this.audit, this.history];
    for (const readings of all) readings.forget();
  }

  #readProject(project: KnownProject): Promise<ProjectFacts> {
    return readProject(this.setting, this.installation, project, async (window) => {
      return (await this.#delaysOf(project.org, window)).get(project.project) ?? null;
    });
  }

  async #delaysOf(org: string, window: WindowView): Promise<ReadonlyMap<string, ProjectDelays>> {
    this.#windows.set(org, window);
    return (await this.#delays.of(org).get()).value;
  }

  async #readDelays(org: string): Promise<ReadonlyMap<string, ProjectDelays>> {
    const organization = this.setting.organizations.find(({ id }) => id === org);
    const window = this.#windows.get(org);
    if (organization === undefined || window === undefined) return new Map();
    return (await this.installation.feedback()).refreshDelays(organization, window, Date.now());
  }

  async #readHistory(sinceMs: number): Promise<EndedRuns> {
    const { sites, projects } = this.selection;
    const subjects = [...sites, ...projects, ...this.setting.organizations.map(({ id: org }) => ({ org }))];
    const since = new Date(Date.now() - sinceMs).toISOString();
    return endedRuns(await this.installation.feedback(), since, subjects, mostEnded);
  }

  async #readOverview(): Promise<OverviewFacts> {
    const drifted = this.#drifts.get().then(
      ({ value: { drifts, damaged } }) => ({ drifts, failures: damagedRecords(driftUnknown, damaged) }),
      (error: unknown) => ({
        drifts: new Map<string, Drift>(),
        failures: error instanceof ReadingLate ? [] : [{ unknown: driftUnknown, error }],
      }),
    );
    const { explain } = this.setting;
    const { facts, unavailable } = await gatherFacts(factSources(this.installation, this.selection), explain);
    const { drifts, failures } = await drifted;
    const unread = failures.map(({ unknown, error }) => ({
      part: 'bundle store' as const,
      unknown,
      ...explain(error),
    }));
    return { facts, unavailable: [...unavailable, ...unread], drifts };
  }

  #readBudgets(): Promise<OrganizationBudget[]> {
    return inBatches(this.setting.organizations, callsAtOnce, async ({ id: org, budget }) => {
      const read = await readBudget(this.setting, this.installation, { org, budget });
      // Without the store, the windows can still be shown.
      const delays = read.view && (await this.#delaysOf(org, read.view).catch(() => null));
      return { ...read, promised: delays && slowest([...delays.values()]) };
    });
  }
}

/** Expected delays of the project with the longest; all others are read sooner. */
function slowest(delays: readonly ProjectDelays[]): ExpectedDelays | null {
  const known = delays.flatMap(({ expected }) => expected ?? []);
  if (known.length === 0) return null;
  const most = (name: keyof ExpectedDelays) =>
    known.reduce<number | null>(
      (longest, one) => (one[name] === null ? longest : Math.max(longest ?? 0, one[name])),
      null,
    );
  return { newMs: most('newMs'), newMostMs: most('newMostMs'), statusMs: most('statusMs'), silentMs: most('silentMs') };
}

function sitesOf({ id: org, sites }: ShownOrganization): KnownSite[] {
  return sites.map(({ domain, rollout }) => ({ org, domain, targets: rollout.map(({ name }) => name) }));
}

function projectsOf({ id: org, projects, budget }: ShownOrganization): KnownProject[] {
  return projects.map(({ id: project, name = null }) => ({ org, project, name, budget }));
}

const keyOf = (org: string, name: string): string => JSON.stringify([org, name]);
