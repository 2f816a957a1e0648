import type { WindowSettings, WindowView } from '../../budget/rules/permits.ts';
import type { BundleStore } from '../../exports/store/bundle-store.ts';
import type { VersionChanges } from '../../exports/verify/compare-pages.ts';
import type { ExpectedDelays, ProjectDelays } from '../../feedback/rules/refresh/expected.ts';
import type { ReportFigures } from '../../feedback/rules/report-figures.ts';
import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import { type EndedRuns, endedRuns } from '../../operations/history.ts';
import { Installation } from '../../operations/installation.ts';
import { type Facts, gatherFacts, readLive, type Selection, type Unavailable } from '../../operations/status.ts';
import type { ScheduleTarget } from '../../rules/workflow-ids.ts';
import { Semaphore } from '../../semaphore.ts';
import { callsAtOnce, inBatches } from '../../temporal/runs.ts';
import type { ConsoleSetting, ShownOrganization } from '../console-setting.ts';
import { type AuditFacts, type AuditQuery, readAudit } from './audit-query.ts';
import {
  driftedSites,
  type OrganizationBudget,
  type ProjectFacts,
  readBudget,
  readProject,
  readSite,
  type SiteFacts,
} from './facts.ts';
import { FeedbackReadings } from './feedback-readings.ts';
import type { Drift } from './overview-filter.ts';
import { LatestReadings, type ReadingTimes, SharedReading, usualTimes } from './shared-reading.ts';

/** All entries are counted, so this is read more rarely than the rest. */
const chartsFreshMs = 60_000;
/** A page comes without its charts, which follow. */
const firstMs = 1_500;
const mostCharts = 50;
/** Rows that the history reads of each sort: a week of a thousand hourly sites has 168,000, seconds of work. */
const mostEnded = 5_000;

interface Drawn {
  /** JSON text of the part as drawn. */
  figures: string;
  charts: string;
}

/** The report's charts of projects as HTML, without what people wrote; drawn again only when the figures have changed. */
export class ProjectCharts {
  readonly #feedback: () => Promise<FeedbackStore>;
  readonly #readings: LatestReadings<string>;

  constructor(feedback: () => Promise<FeedbackStore>, times: ReadingTimes) {
    this.#feedback = feedback;
    this.#readings = new LatestReadings(mostCharts, { ...times, freshMs: chartsFreshMs, firstMs });
  }

  of({ org, project }: { org: string; project: string }): SharedReading<string> {
    let last: Drawn | null = null;
    return this.#readings.of(JSON.stringify([org, project]), async () => {
      const query = { org, project, comments: 0, now: new Date() };
      const figures = await (await this.#feedback()).reportFigures(query);
      const text = JSON.stringify(figures);
      if (last?.figures !== text) last = { figures: text, charts: await draw(figures) };
      return last.charts;
    });
  }
}

async function draw(figures: ReportFigures): Promise<string> {
  // Loads the chart library, which no other page needs.
  const { chartsOf } = await import('../../feedback/report/report-page.ts');
  return await chartsOf(figures, 'feedback');
}

/** Reads all of an organization's refresh pages, so it runs seldom. */
const delaysFreshMs = 60_000;
const mostDelays = 20;

/** Versions never change, but retention removes them. */
const changesFreshMs = 600_000;
const longestMs = 60_000;
const mostChanges = 20;

/** What versions change against each other, read once for everybody, and one at a time. */
class VersionComparisons {
  readonly #bundles: () => Promise<BundleStore>;
  readonly #readings: LatestReadings<VersionChanges>;
  readonly #slots = new Semaphore(1);

  constructor(bundles: () => Promise<BundleStore>, times: ReadingTimes) {
    this.#bundles = bundles;
    this.#readings = new LatestReadings(mostChanges, { ...times, freshMs: changesFreshMs });
  }

  /** `from` is null when nothing is in service. */
  of(domain: string, from: string | null, to: string): SharedReading<VersionChanges> {
    return this.#readings.of(JSON.stringify([domain, from, to]), () => this.#compare(domain, from, to));
  }

  async #compare(domain: string, from: string | null, to: string): Promise<VersionChanges> {
    const signal = AbortSignal.timeout(longestMs);
    return this.#slots.use(signal, async () => {
      // Loads a reader of HTML, which no other page needs.
      const { compareVersions } = await import('../../exports/verify/compare-pages.ts');
      return compareVersions(await this.#bundles(), domain, { from, to }, { signal });
    });
  }
}

export interface OverviewFacts {
  facts: Facts;
  unavailable: Unavailable[];
  /** Sites with a drifted target, by domain. */
  drifts: ReadonlyMap<string, Drift>;
}

/** Asks the store for each site, so it runs seldom, and the overview does not wait for its first result. */
const driftTimes: ReadingTimes = { freshMs: 120_000, maxWaitMs: 0, firstMs: 50 };

/** A site as the configuration has it. */
export interface KnownSite {
  org: string;
  domain: string;
  targets: readonly string[];
}

export interface KnownProject {
  org: string;
  project: string;
  name: string | null;
  /** As configured. */
  budget: WindowSettings;
}

/** Pages of the audit: there are as many as people can ask for. */
const auditsKept = 100;

/** The readings of all pages, made once for all viewers, of configured sites and projects only. */
export class ConsoleReader {
  readonly installation: Installation;
  readonly selection: Selection;
  readonly overview: SharedReading<OverviewFacts>;
  readonly budgets: SharedReading<OrganizationBudget[]>;
  readonly feedback: FeedbackReadings;
  readonly changes: VersionComparisons;
  readonly charts: ProjectCharts;
  readonly #setting: ConsoleSetting;
  readonly #times: ReadingTimes;
  readonly #sites: ReadonlyMap<string, KnownSite>;
  readonly #projects: ReadonlyMap<string, KnownProject>;
  readonly #audits: LatestReadings<AuditFacts>;
  readonly #histories: LatestReadings<EndedRuns>;
  readonly #delays: LatestReadings<ReadonlyMap<string, ProjectDelays>>;
  readonly #drifts: SharedReading<ReadonlyMap<string, Drift>>;
  readonly #siteReadings = new Map<string, SharedReading<SiteFacts>>();
  readonly #projectReadings = new Map<string, SharedReading<ProjectFacts>>();

  constructor(setting: ConsoleSetting, times: ReadingTimes = usualTimes) {
    this.#setting = setting;
    this.#times = times;
    this.installation = new Installation(setting);
    const sites = setting.organizations.flatMap(sitesOf);
    const projects = setting.organizations.flatMap(projectsOf);
    this.#sites = new Map(sites.map((site) => [keyOf(site.org, site.domain), site]));
    this.#projects = new Map(projects.map((project) => [keyOf(project.org, project.project), project]));
    this.selection = {
      sites: sites.map(({ org, domain }) => ({ org, domain })),
      projects: projects.map(({ org, project }) => ({ org, project })),
    };
    this.overview = new SharedReading(() => this.#readOverview(), times);
    this.budgets = new SharedReading(() => this.#readBudgets(), times);
    this.#audits = new LatestReadings(auditsKept, times);
    this.#histories = new LatestReadings(auditsKept, times);
    this.#delays = new LatestReadings(mostDelays, { ...times, freshMs: delaysFreshMs });
    const watched = sites.filter(({ targets }) => targets.length > 0);
    this.#drifts = new SharedReading(async () => driftedSites(await this.installation.bundles(), watched), driftTimes);
    this.feedback = new FeedbackReadings(this.installation.feedback, times);
    this.changes = new VersionComparisons(this.installation.bundles, times);
    this.charts = new ProjectCharts(this.installation.feedback, times);
  }

  get setting(): ConsoleSetting {
    return this.#setting;
  }

  knownSite(org: string, domain: string): KnownSite | null {
    return this.#sites.get(keyOf(org, domain)) ?? null;
  }

  knownProject(org: string, project: string): KnownProject | null {
    return this.#projects.get(keyOf(org, project)) ?? null;
  }

  /** Whether the site or project is in the configuration. */
  knows(target: ScheduleTarget): boolean {
    const { org } = target;
    if (target.kind === 'refresh') return this.#setting.organizations.some(({ id }) => id === org);
    const known =
      target.kind === 'export' ? this.knownSite(org, target.domain) : this.knownProject(org, target.project);
    return known !== null;
  }

  site(site: KnownSite): SharedReading<SiteFacts> {
    return kept(
      this.#siteReadings,
      keyOf(site.org, site.domain),
      () => new SharedReading(() => readSite(this.#setting, this.installation, site), this.#times),
    );
  }

  project(project: KnownProject): SharedReading<ProjectFacts> {
    return kept(
      this.#projectReadings,
      keyOf(project.org, project.project),
      () => new SharedReading(() => this.#readProject(project), this.#times),
    );
  }

  #readProject(project: KnownProject): Promise<ProjectFacts> {
    return readProject(this.#setting, this.installation, project, async (window) => {
      return (await this.#delaysOf(project.org, window)).get(project.project) ?? null;
    });
  }

  async #delaysOf(org: string, window: WindowView): Promise<ReadonlyMap<string, ProjectDelays>> {
    const organization = this.#setting.organizations.find(({ id }) => id === org);
    if (organization === undefined) return new Map();
    const reading = this.#delays.of(org, async () =>
      (await this.installation.feedback()).refreshDelays(organization, window, Date.now()),
    );
    return (await reading.get()).value;
  }

  /** A page of the audit. */
  audit(query: AuditQuery): SharedReading<AuditFacts> {
    return this.#audits.of(JSON.stringify(query), () => readAudit(this.installation, query));
  }

  /** What ended in the last `sinceMs`, of all that is configured: the newest, where a busy week had more. */
  history(sinceMs: number): SharedReading<EndedRuns> {
    return this.#histories.of(String(sinceMs), async () => {
      const { sites, projects } = this.selection;
      const subjects = [...sites, ...projects, ...this.#setting.organizations.map(({ id: org }) => ({ org }))];
      const since = new Date(Date.now() - sinceMs).toISOString();
      return endedRuns(await this.installation.feedback(), since, subjects, mostEnded);
    });
  }

  /** Something was done: the next page reads again. */
  forget(): void {
    const maps = [this.#siteReadings, this.#projectReadings];
    const all = [
      this.overview,
      this.budgets,
      this.#audits,
      this.#histories,
      ...maps.flatMap((map) => [...map.values()]),
    ];
    for (const reading of all) reading.forget();
  }

  async #readOverview(): Promise<OverviewFacts> {
    const { sites } = this.selection;
    const { temporal, feedback, bundles } = this.installation;
    const sources = {
      live: async () => readLive(await temporal(), this.#setting.taskQueue, this.selection),
      records: async () => (await feedback()).latestRecords(this.selection),
      inService: async () =>
        sites.length === 0 ? new Map() : (await bundles()).inService(sites.map(({ domain }) => domain)),
    };
    const drifts = this.#drifts.get().catch(() => null);
    const gathered = await gatherFacts(sources, this.#setting.explain);
    return { ...gathered, drifts: (await drifts)?.value ?? new Map() };
  }

  #readBudgets(): Promise<OrganizationBudget[]> {
    return inBatches(this.#setting.organizations, callsAtOnce, async ({ id: org, budget }) => {
      const read = await readBudget(this.#setting, this.installation, { org, budget });
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

function kept<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

const keyOf = (org: string, name: string): string => JSON.stringify([org, name]);
