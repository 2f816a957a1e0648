import { addRefusal, recentSightings, requestsOfOthers, type Sighting } from '../../src/budget/rules/window-state.ts';
import { type ExpectedDelays, expectedDelays } from '../../src/feedback/rules/refresh/expected.ts';
import {
  afterRequest,
  deadlinesLeft,
  newPace,
  nextRequestAt,
  type Pace,
  type PaceSettings,
  requestsAnHour,
} from '../../src/feedback/rules/refresh/pace.ts';
import {
  addEntry,
  blankPage,
  type Cut,
  covers,
  isHeadFull,
  isIn,
  type RefreshPage,
  shiftHead,
} from '../../src/feedback/rules/refresh/pages.ts';
import { judged, nextPage, type RefreshProject } from '../../src/feedback/rules/refresh/queue.ts';
import {
  arrived,
  faded,
  type Lesson,
  lessonOf,
  noTallies,
  pooled,
  type RefreshEntry,
  ratesOf,
  type Tallies,
} from '../../src/feedback/rules/refresh/rates.ts';
import { cutPages, taught } from '../../test/tools/feedback/refresh-rules.ts';
import type { World, WorldEntry, WorldPage } from './world.ts';

/** How the simulated organization is configured. */
interface RefreshOptions {
  /** From 0 to 1. */
  share: number;
  everyMs: number;
  reserve: number;
}

/** A request takes so long; the next one of a run follows it. */
const requestMs = 200;
/** A run waits so long for its next request before it leaves it to the run after it. */
const graceMs = 10_000;
const recutMs = 86_400_000;

interface Stored extends RefreshEntry {
  id: string;
  /** As the service has it. */
  entry: WorldEntry;
}

interface Project extends RefreshProject {
  entries: Map<string, Stored>;
  /** Dated entries, oldest first. */
  dated: Stored[];
  pages: { all: RefreshPage[]; open: RefreshPage[] };
  cut: Cut;
  tallies: Tallies;
}

interface Turn {
  page: RefreshPage;
  why: 'again' | 'deadline' | 'worth';
  startedAt: number;
  cursor: number | null;
  requests: number;
}

/**
 * Refreshes a world to its end as a worker does, with the same decisions; requests, tables and Temporal are replaced by
 * what is in memory.
 */
export class RefreshRun {
  private readonly world: World;
  private readonly options: RefreshOptions;
  private readonly projects = new Map<string, Project>();
  private pages: RefreshPage[] = [];
  private pace: Pace;
  private sightings: Sighting[] = [];
  private blockedUntil = 0;
  private sent: number[] = [];
  private turn: Turn | null = null;

  constructor(world: World, options: RefreshOptions) {
    this.world = world;
    this.options = options;
    const { start, projects } = world.head;
    this.pace = newPace(start);
    for (const project of projects) this.projects.set(project, this.known(project, start));
    for (const project of this.projects.values()) this.cut(project, start);
  }

  /** Plays the world to its end. Returns the delays that were expected when the measured days began. */
  play(): ExpectedDelays {
    const { everyMs } = this.options;
    let expected: ExpectedDelays | null = null;
    for (let at = this.world.now + everyMs; at <= this.world.end; at += everyMs) {
      if (at >= this.world.head.measureFrom) expected ??= this.expected(at);
      this.run(at);
    }
    this.world.advance(this.world.end);
    return expected ?? this.expected(this.world.end);
  }

  private expected(at: number): ExpectedDelays {
    const { everyMs, windowMs, limit, otherClients, share } = this.settings(at);
    const window = { limit, reserve: this.options.reserve, windowMs, otherClients };
    const perHour = requestsAnHour(share, this.pace, window, at);
    const { projects, ...delays } = expectedDelays(this.pages, [...this.projects.values()], { perHour, everyMs, at });
    return delays;
  }

  private run(startedAt: number): void {
    const until = startedAt + Math.min(graceMs, this.options.everyMs / 4);
    for (let now = startedAt; ; ) {
      const settings = this.settings(now);
      const at = nextRequestAt(this.pace, settings, Math.max(now, this.blockedUntil));
      if (at === null || at > until) return;
      this.world.advance(at);
      this.recutDue(at);
      this.request(at, settings, startedAt + this.options.everyMs);
      now = at + requestMs;
    }
  }

  private settings(now: number): PaceSettings {
    const { limit, windowMs } = this.world.head;
    this.sightings = recentSightings(this.sightings, now, windowMs);
    const { share, everyMs, reserve } = this.options;
    const otherClients = requestsOfOthers(this.sightings, limit);
    const available = limit - Math.max(reserve, otherClients ?? 0);
    return { share, limit, available, otherClients, windowMs, everyMs, firstReadings: false };
  }

  private request(at: number, settings: PaceSettings, nextRunAt: number): void {
    const { limit, windowMs } = this.world.head;
    this.sent = this.sent.filter((moment) => moment > at - windowMs);
    const turn = this.turn ?? this.chosen(at, settings, nextRunAt);
    if (turn === null) return;
    this.turn = turn;
    const refused = this.world.admit(at);
    this.pace = afterRequest(this.pace, settings, at, turn.why === 'deadline' ? 'deadline' : 'share');
    if (refused !== null) {
      this.sightings = addRefusal(this.sightings, { at, limit, own: this.sent, windowMs });
      this.blockedUntil = at + Math.min(windowMs + 60_000, refused.retryAfterMs);
      return;
    }
    this.sent.push(at);
    const { project: id, list, from, to } = turn.page;
    const answer = this.world.page({ project: id, from, to, openOnly: list === 'open' }, turn.cursor, at);
    turn.requests += 1;
    turn.cursor = answer.cursor;
    const project = this.project(id);
    this.store(project, answer, at);
    if (answer.cursor === null) {
      this.complete(project, turn, at);
      this.turn = null;
    }
  }

  private chosen(at: number, settings: PaceSettings, nextRunAt: number): Turn | null {
    const left = deadlinesLeft(this.pace, settings, at);
    const chosen = nextPage(this.pages, this.projects, at, { nextRunAt, deadlinesLeft: left });
    return chosen === null ? null : { ...chosen, startedAt: at, cursor: null, requests: 0 };
  }

  private store(project: Project, { entries }: WorldPage, at: number): void {
    const lessons: Lesson[] = [];
    const fresh: number[] = [];
    for (const entry of entries) {
      const changed = this.world.learn(entry, at + requestMs);
      const known = project.entries.get(entry.id);
      if (known === undefined) {
        const stored = storedOf(entry, at);
        this.insert(project, stored);
        fresh.push(entry.createdAt);
        continue;
      }
      const lesson = lessonOf(known, at, changed);
      if (lesson !== null) lessons.push(lesson);
      this.change(project, known, () => {
        if (known.status !== entry.status) known.changedAt = at;
        known.status = entry.status;
        known.seenAt = at;
        known.leftAt = null;
      });
    }
    project.tallies = taught(project.tallies, lessons);
    if (fresh.length === 0) return;
    project.arrivals = arrived(project.arrivals, fresh);
    for (const list of ['all', 'open'] as const) this.shift(project, list);
  }

  private complete(project: Project, turn: Turn, at: number): void {
    const page = this.pageOf(project, turn.page);
    const entries = within(project.dated, page).filter((entry) => isIn(page.list, entry));
    const findings = judged({
      page,
      startedAt: turn.startedAt,
      entries,
      requests: turn.requests,
      stored: project.entries.size,
      missingElsewhere: 0,
    });
    Object.assign(page, findings.page);
    if (page.to === null) project.headReadAt = Math.max(project.headReadAt ?? 0, turn.startedAt);
    for (const { id, leftAt } of findings.left) {
      const known = project.entries.get(id);
      if (known !== undefined) this.change(project, known, () => Object.assign(known, { leftAt }));
    }
    for (const id of findings.tombstoned) {
      const known = project.entries.get(id);
      if (known === undefined) continue;
      this.world.learn(known.entry, at + requestMs);
      this.account(project, known, -1);
      project.entries.delete(id);
      project.dated.splice(project.dated.indexOf(known), 1);
    }
  }

  /** The page of today that holds the dates of one chosen before the lists were cut again. */
  private pageOf(project: Project, { list, from, to, ...page }: RefreshPage): RefreshPage {
    const pages = list === 'undated' ? [] : project.pages[list];
    return pages.find((other) => other.from === from && other.to === to) ?? { ...page, list, from, to };
  }

  private insert(project: Project, stored: Stored): void {
    project.entries.set(stored.id, stored);
    let place = project.dated.length;
    while (place > 0 && (project.dated[place - 1]?.createdAt ?? 0) > (stored.createdAt ?? 0)) place -= 1;
    project.dated.splice(place, 0, stored);
    this.account(project, stored, 1);
  }

  private change(project: Project, stored: Stored, update: () => void): void {
    this.account(project, stored, -1);
    update();
    this.account(project, stored, 1);
  }

  private account({ pages, cut }: Project, stored: Stored, sign: 1 | -1): void {
    for (const list of ['all', 'open'] as const) {
      const page = isIn(list, stored) ? covering(pages[list], stored.createdAt ?? 0) : undefined;
      if (page !== undefined) addEntry(page, list, stored, cut, sign);
    }
  }

  private shift(project: Project, list: 'all' | 'open'): void {
    const [head, below, ...others] = project.pages[list];
    if (head === undefined || !isHeadFull(head)) return;
    const entries = within(project.dated, head).reverse();
    project.pages[list] = [...shiftHead(head, below ?? null, entries, project.cut), ...others];
    this.collect();
  }

  private recutDue(at: number): void {
    if (this.turn !== null) return;
    for (const project of this.projects.values()) if (at - project.cut.at >= recutMs) this.cut(project, at);
  }

  private cut(project: Project, at: number): void {
    project.tallies = faded(project.tallies, at - project.cut.at);
    const all = pooled([...this.projects.values()].map(({ tallies }) => tallies));
    project.cut = { at, rates: ratesOf(project.tallies, all) };
    const before = [...project.pages.all, ...project.pages.open];
    const pages = cutPages(project.project, project.dated.toReversed(), project.cut, before);
    project.pages = {
      all: pages.filter(({ list }) => list === 'all'),
      open: pages.filter(({ list }) => list === 'open'),
    };
    this.collect();
  }

  private collect(): void {
    this.pages = [...this.projects.values()].flatMap(({ pages }) => [...pages.all, ...pages.open]);
  }

  /** A project that has been read whole at `at`. */
  private known(project: string, at: number): Project {
    const dated = this.world
      .entriesOf(project)
      .filter(({ deleted }) => !deleted)
      .map((entry) => storedOf(entry, at));
    const cut = { at, rates: ratesOf(noTallies, noTallies) };
    const moments = dated.map(({ createdAt }) => createdAt ?? at);
    return {
      project,
      weight: 1,
      atMostMs: null,
      arrivals: arrived({ at: 0, long: 0, short: 0 }, moments),
      headReadAt: at,
      entries: new Map(dated.map((stored) => [stored.id, stored])),
      dated,
      pages: {
        all: [{ ...blankPage(project, 'all', at), readAt: at }],
        open: [{ ...blankPage(project, 'open', at), readAt: at }],
      },
      cut,
      tallies: noTallies,
    };
  }

  private project(id: string): Project {
    const project = this.projects.get(id);
    if (project === undefined) throw new Error(`no project ${id}`);
    return project;
  }
}

const storedOf = (entry: WorldEntry, at: number): Stored => ({
  id: entry.id,
  entry,
  createdAt: entry.createdAt,
  status: entry.status,
  seenAt: at,
  changedAt: null,
  leftAt: null,
});

/** Pages come newest first. */
function covering(pages: readonly RefreshPage[], moment: number): RefreshPage | undefined {
  let [low, high] = [0, pages.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    const from = pages[middle]?.from ?? null;
    if (from !== null && moment < from) low = middle + 1;
    else high = middle;
  }
  return pages[low];
}

/** The entries that a page covers, oldest first. */
function within(dated: readonly Stored[], page: Pick<RefreshPage, 'from' | 'to'>): Stored[] {
  const place = (moment: number) => {
    let [low, high] = [0, dated.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((dated[middle]?.createdAt ?? 0) < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const found = dated.slice(page.from === null ? 0 : place(page.from), page.to === null ? undefined : place(page.to));
  return found.filter(({ createdAt }) => covers(page, createdAt ?? 0));
}
