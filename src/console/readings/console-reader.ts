import type { WindowView } from '../../budget/rules/window-view.ts';
import type { BundleStore } from '../../exports/store/bundle-store.ts';
import type { VersionChanges } from '../../exports/verify/compare-pages.ts';
import type { ExpectedDelays, ProjectDelays } from '../../feedback/rules/refresh/expected.ts';
import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import { type EndedRuns, endedRuns } from '../../operations/history.ts';
import { Installation } from '../../operations/installation.ts';
import { type Facts, factSources, gatherFacts, type Selection, type Unavailable } from '../../operations/status.ts';
import type { ScheduleTarget } from '../../rules/workflow-ids.ts';
import { isConfigured } from '../../schedules/rules/desired-schedules.ts';
import { Semaphore } from '../../semaphore.ts';
import { callsAtOnce, inBatches } from '../../temporal/runs.ts';
import type { ConsoleSetting, ShownOrganization } from '../console-setting.ts';
import { type AuditFacts, type AuditQuery, readAudit } from './audit-query.ts';
import {
  driftedSites,
  type KnownProject,
  type KnownSite,
  type OrganizationBudget,
  type ProjectFacts,
  readBudget,
  readProject,
  readSite,
  type SiteFacts,
} from './facts.ts';
import { feedbackReadings } from './feedback-readings.ts';
import type { Drift } from './overview-filter.ts';
import { Readings, type ReadingTimes, SharedReading, usualTimes } from './shared-reading.ts';

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
  readonly #drifts: SharedReading<ReadonlyMap<string, Drift>>;

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
    const drifts = this.#drifts.get().catch(() => null);
    const gathered = await gatherFacts(factSources(this.installation, this.selection), this.setting.explain);
    return { ...gathered, drifts: (await drifts)?.value ?? new Map() };
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
