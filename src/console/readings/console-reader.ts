import { inBatches } from '../../temporal/in-batches.ts';
import { callsAtOnce } from '../../schedules/owned-schedules.ts';
import type { WindowSettings } from '../../budget/rules/permits.ts';
import type { ScheduleTarget } from '../../rules/schedule-target.ts';
import { gatherFacts, readLive, type Unavailable } from '../../operations/gather-facts.ts';
import type { Facts, Selection } from '../../operations/status-lines.ts';
import type { ConsoleSetting, ShownOrganization } from '../console-setting.ts';
import { type AuditFacts, readAudit } from './audit-facts.ts';
import type { AuditQuery } from './audit-query.ts';
import { type OrganizationBudget, readBudget } from './budget-facts.ts';
import { Connections } from './connections.ts';
import { FeedbackReadings } from './feedback-readings.ts';
import { LatestReadings } from './latest-readings.ts';
import { ProjectCharts } from './project-charts.ts';
import { type ProjectFacts, readProject } from './project-facts.ts';
import { type ReadingTimes, SharedReading, usualTimes } from './shared-reading.ts';
import { readSite, type SiteFacts } from './site-facts.ts';
import { VersionComparisons } from './version-changes.ts';

export interface OverviewFacts {
  facts: Facts;
  unavailable: Unavailable[];
}

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

/** What all pages show, read once for everybody. Only what is configured can be asked for. */
export class ConsoleReader {
  readonly connections: Connections;
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
  readonly #siteReadings = new Map<string, SharedReading<SiteFacts>>();
  readonly #projectReadings = new Map<string, SharedReading<ProjectFacts>>();

  constructor(setting: ConsoleSetting, times: ReadingTimes = usualTimes) {
    this.#setting = setting;
    this.#times = times;
    this.connections = new Connections(setting);
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
    this.feedback = new FeedbackReadings(this.connections.feedback, times);
    this.changes = new VersionComparisons(this.connections.bundles, times);
    this.charts = new ProjectCharts(this.connections.feedback, times);
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
    const known =
      target.kind === 'export' ? this.knownSite(org, target.domain) : this.knownProject(org, target.project);
    return known !== null;
  }

  site(site: KnownSite): SharedReading<SiteFacts> {
    return kept(
      this.#siteReadings,
      keyOf(site.org, site.domain),
      () => new SharedReading(() => readSite(this.#setting, this.connections, site), this.#times),
    );
  }

  project(project: KnownProject): SharedReading<ProjectFacts> {
    return kept(
      this.#projectReadings,
      keyOf(project.org, project.project),
      () => new SharedReading(() => readProject(this.#setting, this.connections, project), this.#times),
    );
  }

  /** A page of the audit. */
  audit(query: AuditQuery): SharedReading<AuditFacts> {
    return this.#audits.of(JSON.stringify(query), () => readAudit(this.connections, query));
  }

  /** Something was done: the next page reads again. */
  forget(): void {
    const maps = [this.#siteReadings, this.#projectReadings];
    const all = [this.overview, this.budgets, this.#audits, ...maps.flatMap((map) => [...map.values()])];
    for (const reading of all) reading.forget();
  }

  async #readOverview(): Promise<OverviewFacts> {
    const { sites } = this.selection;
    const { temporal, feedback, bundles } = this.connections;
    const sources = {
      live: async () => readLive(await temporal(), this.#setting.taskQueue),
      records: async () => (await feedback()).latestRecords(this.selection),
      inService: async () =>
        sites.length === 0 ? new Map() : (await bundles()).inService(sites.map(({ domain }) => domain)),
    };
    return gatherFacts(sources, this.#setting.explain);
  }

  #readBudgets(): Promise<OrganizationBudget[]> {
    const { organizations } = this.#setting;
    return inBatches(organizations, callsAtOnce, ({ id: org, budget }) =>
      readBudget(this.#setting, this.connections, { org, budget }),
    );
  }
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
