import { ApplicationFailure } from '@temporalio/common';
import { Lease, type Refusal } from '../budget/lease.ts';
import { maxLease, type PermitWait } from '../budget/rules/permits.ts';
import type { WindowView } from '../budget/rules/window-view.ts';
import type { PassRow } from '../feedback/reading/passes.ts';
import { longestPauseMs, type RefreshView } from '../feedback/reading/refresh-state.ts';
import { addCounts, type EntryCounts, noEntries } from '../feedback/rules/feedback-entry.ts';
import {
  afterRequest,
  deadlinesLeft,
  nextFirstAt,
  nextRequestAt,
  type Pace,
  type PaceSettings,
} from '../feedback/rules/refresh/pace.ts';
import type { RefreshPage } from '../feedback/rules/refresh/pages.ts';
import { nextPage } from '../feedback/rules/refresh/queue.ts';
import { mostNamed, type ProjectFindings, type RefreshSettings, type SyncState } from '../feedback/rules/sync.ts';
import { passNotices } from '../runs/rules/notices.ts';
import { NetworkError, NotFound, PlanRequired, ServerError, ServiceError } from '../service/errors.ts';
import {
  type ActivityDependencies,
  notConfigured,
  organizationOf,
  requireStore,
  runOf,
  serviceFailure,
  temporalClock,
} from './dependencies.ts';
import { PassReading } from './feedback-pages.ts';
import { withHeartbeats } from './heartbeats.ts';
import { type LeaseRequest, refusalOf, requestLease, useLease, waitFor, waitingOf } from './leases.ts';
import { recordNotices, subscribers } from './notices.ts';

/** A run sends what is due within this time, and ends when the next request comes later. */
const graceMs = 5_000;
/** No further request after this time: a call must end well within the activity's five minutes. */
const furtherRequestsMs = 120_000;
/** How long refresh leaves a page or a first reading alone that it cannot read; it reads others meanwhile. */
const brokenPauseMs = 15 * 60_000;
/** Failures in a row, of any projects, after which refresh takes the service to be down. */
const mostFailures = 3;
/** A reading of more pages than this lets others go between two of its requests. */
const longReading = 10;
const hourMs = 3_600_000;

interface RefreshPagesInput {
  org: string;
  /** The store of the call before; null in the first one. */
  storeId: string | null;
}

export interface RefreshPagesResult {
  storeId: string;
  /** `done`: nothing is due for some seconds. */
  outcome: 'more' | 'done' | 'waiting';
  pages: number;
  requests: number;
  throttled: number;
  entries: EntryCounts;
  /** What first readings have brought, and what could not be read: of at most `mostNamed` projects. */
  projects: ProjectFindings[];
  waiting: SyncState['waiting'];
  nextDueAt: number;
}

interface FinishRefreshInput {
  org: string;
  /** Null while no step has named the store. */
  storeId: string | null;
  outcome: 'completed' | 'failed' | 'cancelled';
  error: string | null;
  startedAt: number;
  finishedAt: number;
  nextDueAt: number | null;
}

interface FinishedRefresh {
  projects: ProjectFindings[];
  /** Further projects with findings. */
  others: number;
  /** Names of the webhooks to notify. */
  webhooks: string[];
}

export const createRefreshActivities = (deps: ActivityDependencies) => ({
  /**
   * Reads the pages that are worth most, of all projects of an organization, as far as requests are due and the budget has
   * them. Waiting for the budget is a normal result. What cannot be read is named if that lasts, and stops no others.
   */
  async refreshPages(input: RefreshPagesInput): Promise<RefreshPagesResult> {
    if (input.storeId !== null) requireStore('feedback', input.storeId, deps.feedback);
    const call = { pages: 0 };
    return withHeartbeats(
      () => call,
      (signal) => new RefreshCall(deps, input.org, call, signal).run(),
    );
  },

  /** Leaves the rows of a run (X4), sends its notices, and has the schedule wait when nothing is due. Safe to repeat. */
  async finishRefresh(input: FinishRefreshInput): Promise<FinishedRefresh> {
    if (input.storeId !== null) requireStore('feedback', input.storeId, deps.feedback);
    const { org, outcome, error, nextDueAt } = input;
    const at = new Date(input.finishedAt);
    const projects = await deps.feedback.endRefreshRun({
      ...runOf(),
      org,
      outcome,
      error,
      startedAt: new Date(input.startedAt),
      finishedAt: at,
    });
    const { projects: configured } = organizationOf(deps, org);
    await deps.feedback.expire(
      configured.map(({ id }) => id),
      at,
    );
    const readable = new Set(await deps.feedback.readableProjects(org, input.startedAt, input.finishedAt));
    const open = (await deps.feedback.noticeRows(org)).filter((row) => row.open);
    const noticed = configured
      .filter(({ id }) => readable.has(id))
      .flatMap(({ id: project }) => refreshNotices(project, null))
      .filter(({ type, subject }) => open.some((one) => one.type === type && one.subject === subject));
    await recordNotices(deps, noticed, { org, by: `run ${runOf().runId}`, at });
    if (nextDueAt !== null) await deps.postponeRefresh(org, Math.min(nextDueAt, input.finishedAt + hourMs));
    return {
      projects: projects.slice(0, mostNamed),
      others: Math.max(0, projects.length - mostNamed),
      webhooks: await subscribers(deps, org, 'feedback.refreshed'),
    };
  },
});

/** What people are told of a project that refresh can or cannot read. */
function refreshNotices(project: string, error: string | null) {
  const outcome = error === null ? 'completed' : 'failed';
  return passNotices({ project, pass: 'refresh', outcome, error, dateFrom: null, dateTo: null });
}

type Choice =
  | { kind: 'page'; page: RefreshPage; pays: 'share' | 'deadline' }
  | { kind: 'going on'; project: string; passId: string; pays: 'share' }
  | { kind: 'first'; project: string; pays: 'share' | 'first' };

class RefreshCall {
  readonly #deps: ActivityDependencies;
  readonly #org: string;
  readonly #settings: RefreshSettings;
  readonly #call: { pages: number };
  readonly #signal: AbortSignal;
  readonly #clock = temporalClock();
  readonly #began = performance.now();
  readonly #readings = new Map<string, PassReading>();
  readonly #projects = new Map<string, ProjectFindings>();
  #window: WindowView | null = null;
  #requests = 0;
  #throttled = 0;
  #entries: EntryCounts = noEntries;
  #failures = 0;
  #nextDueAt = 0;

  constructor(deps: ActivityDependencies, org: string, call: { pages: number }, signal: AbortSignal) {
    this.#deps = deps;
    this.#org = org;
    this.#call = call;
    this.#signal = signal;
    const { refresh } = organizationOf(deps, org);
    if (refresh === null) throw notConfigured('InvalidInput', `${org} has no refresh in this worker's configuration`);
    this.#settings = refresh;
  }

  get #now(): number {
    return this.#clock();
  }

  async run(): Promise<RefreshPagesResult> {
    const names = this.#settings.projects.map(({ project }) => project);
    await this.#deps.feedback.prepareRefresh(this.#org, names, this.#now);
    for (;;) {
      await this.#readWindow();
      const { view, pace } = await this.#look();
      const due = this.#due(view, pace);
      if (due === 0 || performance.now() - this.#began > furtherRequestsMs) {
        return this.#result(due === 0 ? 'done' : 'more');
      }
      await this.#broken()?.reader.pause();
      const answer = await requestLease(this.#deps.permits, this.#org, this.#request(due));
      if (!(answer instanceof Lease)) return this.#result('waiting', answer);
      const refusal = await this.#useLease(answer);
      const wait = refusal && (await waitFor(this.#deps.permits, this.#org, this.#request(1)));
      if (wait) return this.#result('waiting', wait);
    }
  }

  /** The reading whose page is given time before its next request. */
  #broken(): PassReading | undefined {
    return [...this.#readings.values()].find(({ reader }) => reader.mustPause);
  }

  #request(wants: number): LeaseRequest {
    return { project: this.#settings.projects[0]?.project ?? this.#org, class: 'refresh', wants };
  }

  /** What limit, reserve and other clients leave; the first question starts the budget. */
  async #readWindow(): Promise<void> {
    this.#window = await this.#deps.outlook.budget(this.#org);
    if (this.#window !== null) return;
    await waitFor(this.#deps.permits, this.#org, this.#request(1));
    this.#window = await this.#deps.outlook.budget(this.#org);
  }

  /** What the next request is chosen from, and what decides the pace. */
  async #look(): Promise<{ view: RefreshView; pace: PaceSettings }> {
    const view = await this.#deps.feedback.refreshView(this.#org, this.#settings.projects, this.#now);
    const { share, everyMs } = this.#settings;
    const { limit = 0, reserve = 0, otherClients = null, windowMs = hourMs } = this.#window ?? {};
    const unread = view.projects.some(isUnread);
    const firstReadings = unread && view.pages.length > 0;
    return {
      view,
      pace: { share, everyMs, windowMs, limit, available: Math.max(0, limit - reserve), otherClients, firstReadings },
    };
  }

  /** How many requests are due now, at most a lease's; notes when the next one is. */
  #due(view: RefreshView, settings: PaceSettings): number {
    const at = this.#now;
    let pace = view.pace;
    let due = 0;
    for (; due < maxLease; due += 1) {
      const choice = this.#choose(view, pace, settings);
      if (choice === null) break;
      pace = afterRequest(pace, settings, at, choice.pays);
    }
    const isFirstLeft = view.projects.some(isUnread);
    const next = [
      view.pages.length > 0 || isFirstLeft ? nextRequestAt(pace, settings, at) : view.readableFrom,
      isFirstLeft ? nextFirstAt(pace, settings, at) : null,
    ].filter((moment) => moment !== null);
    this.#nextDueAt = due > 0 ? at : next.length > 0 ? Math.min(...next) : at + hourMs;
    return due;
  }

  /** What the next request is spent on; null when none is due. */
  #choose(view: RefreshView, pace: Pace, settings: PaceSettings): Choice | null {
    const at = this.#now;
    const isDue = (moment: number | null) => moment !== null && moment <= at + graceMs;
    const shareIsDue = isDue(nextRequestAt(pace, settings, at));
    const first = view.projects
      .filter((project) => isUnread(project) && project.notBefore <= at)
      .sort((a, b) => (a.firstPass?.pages ?? 0) - (b.firstPass?.pages ?? 0))[0];
    if (shareIsDue) {
      const half = view.projects.find(({ halfRead }) => halfRead !== null);
      const pages = this.#readings.get(half?.halfRead ?? '')?.row.pages ?? 0;
      if (half?.halfRead && (pages < longReading || this.#requests % 2 === 0)) {
        return { kind: 'going on', project: half.project, passId: half.halfRead, pays: 'share' };
      }
      const busy = new Set(view.projects.filter(({ halfRead }) => halfRead !== null).map(({ project }) => project));
      const chosen = nextPage(
        view.pages.filter(({ project }) => !busy.has(project)),
        new Map(view.projects.map((project) => [project.project, project])),
        at,
        { nextRunAt: at + this.#settings.everyMs, deadlinesLeft: deadlinesLeft(pace, settings, at) },
      );
      if (chosen) return { kind: 'page', page: chosen.page, pays: chosen.why === 'deadline' ? 'deadline' : 'share' };
      if (first) return { kind: 'first', project: first.project, pays: 'share' };
    }
    return first && isDue(nextFirstAt(pace, settings, at))
      ? { kind: 'first', project: first.project, pays: 'first' }
      : null;
  }

  /** Spends the permits of a lease; returns how the service refused, if it did. */
  #useLease(lease: Lease): Promise<Refusal | undefined> {
    return useLease(this.#deps.permits, this.#org, lease, {
      signal: this.#signal,
      sendNext: async () => {
        const { view, pace } = await this.#look();
        const choice = this.#choose(view, view.pace, pace);
        if (choice !== null) await this.#spend(lease, choice, view.pace, pace);
        // While an unreadable page is given time, others may use the permits.
        return choice !== null && this.#broken() === undefined;
      },
      countRequests: async (throttled) => {
        for (const reading of this.#readings.values()) await reading.countRequests(throttled);
      },
    });
  }

  async #spend(lease: Lease, choice: Choice, before: Pace, settings: PaceSettings): Promise<void> {
    const reading = await this.#readingFor(choice);
    if (reading === null) return;
    // Before the request: one that is lost with this worker has been sent.
    await this.#deps.feedback.saveRefreshPace(this.#org, afterRequest(before, settings, this.#now, choice.pays));
    this.#requests += 1;
    const { pages } = reading.row;
    try {
      await reading.sendRequest(lease);
      await this.#afterAnswer(reading, choice);
      // A first failure is no error: it brings no page.
      if (reading.row.pages === pages) return;
      this.#failures = 0;
      if (choice.kind === 'first' && (await this.#deps.feedback.lastPause(reading.row)).until > 0) {
        await this.#deps.feedback.deferFirstReading({ org: this.#org, project: reading.row.project }, 0);
      }
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal?.throttled) this.#throttled += 1;
      if (refusal) throw error;
      await this.#cannotRead(reading.row, error);
    }
  }

  /** Null when nothing is left to read of what was chosen. */
  async #readingFor(choice: Choice): Promise<PassReading | null> {
    const at = new Date(this.#now);
    const project = choice.kind === 'page' ? choice.page.project : choice.project;
    const { feedback } = this.#deps;
    const passId =
      choice.kind === 'going on'
        ? choice.passId
        : choice.kind === 'first'
          ? (await feedback.beginFirstReading({ org: this.#org, project }, runOf(), at))?.passId
          : (await feedback.beginReading(this.#org, choice.page, runOf(), at)).passId;
    if (passId === undefined) return null;
    const known = this.#readings.get(passId);
    const reading =
      known ??
      new PassReading(this.#deps, { org: this.#org, project, passId, tries: 0 }, this.#signal, (from, to) =>
        this.#count(from, to),
      );
    this.#readings.set(passId, reading);
    await reading.reload();
    return reading;
  }

  async #afterAnswer(reading: PassReading, choice: Choice): Promise<void> {
    const { row, massMissing } = reading;
    if (massMissing !== null) {
      const facts = { entries: massMissing };
      const noticed = [{ type: 'feedback.missing', subject: row.project, state: 'happened', facts } as const];
      await recordNotices(this.#deps, noticed, { org: this.#org, by: `pass ${row.passId}`, at: new Date(this.#now) });
    }
    if (choice.kind !== 'first') return;
    const key = { org: this.#org, project: row.project };
    if (row.position.complete) {
      await this.#deps.feedback.endFirstReading(row.passId, new Date(this.#now));
      this.#readings.delete(row.passId);
    } else if (row.pages === 1) {
      // From now on its newest entries compete.
      await this.#deps.feedback.prepareRefresh(key.org, [key.project], this.#now);
    }
  }

  /**
   * Leaves a page or a project that cannot be read alone for a while. What may pass is named only when it comes again; a
   * failure of the server only if other pages were read meanwhile. `nextAt` is given for a page that has tries left: when the
   * next request goes out. Throws what concerns all of them.
   */
  async #cannotRead(row: PassRow, error: unknown, nextAt: number | null = null): Promise<void> {
    const failure = serviceFailure(error);
    const mayPass = error instanceof ServerError || error instanceof NetworkError;
    const isOfPage = failure instanceof ApplicationFailure && (error instanceof ServiceError || failure.nonRetryable);
    if (mayPass) this.#failures += 1;
    if (!isOfPage || this.#signal.aborted || this.#failures >= mostFailures) throw failure;
    const at = this.#now;
    const last = await this.#deps.feedback.lastPause(row);
    const comesAgain = last.until > 0 && (!mayPass || last.answeredAt > last.until - this.#settings.everyMs);
    const isNamed = comesAgain || (!mayPass && nextAt === null);
    const pauseMs = isNamed ? brokenPauseMs : this.#settings.everyMs;
    // Others go before it at least once, however long the next request takes.
    const notBefore = Math.min(at + longestPauseMs, Math.max(at, nextAt ?? at) + pauseMs);
    const wholeProject = error instanceof NotFound || error instanceof PlanRequired;
    if (row.pass === 'refresh') await this.#deps.feedback.abandonReading(row.passId, { at, notBefore, wholeProject });
    else await this.#deps.feedback.deferFirstReading({ org: this.#org, project: row.project }, notBefore);
    this.#readings.delete(row.passId);
    const problem = `${failure.type}: ${failure.message}`;
    this.#findingsOf(row.project).problem = problem;
    // Here, as the result of the run does not name every project.
    const failed = isNamed ? refreshNotices(row.project, problem) : [];
    await recordNotices(this.#deps, failed, { org: this.#org, by: `run ${runOf().runId}`, at: new Date(at) });
    if (row.pass === 'refresh' || failure.type !== 'OutOfReach') return;
    // Its cursor stays dead, and nothing shows where to go on: the next request begins another reading.
    const end = { outcome: 'failed', error: problem, waitedMs: 0, finishedAt: new Date(at) } as const;
    await this.#deps.feedback.finishPass(row.passId, end);
  }

  #count(before: PassRow, after: PassRow): void {
    const entries = addCounts(after.entries, before.entries, -1);
    this.#entries = addCounts(this.#entries, entries);
    this.#call.pages += Math.max(0, after.pages - before.pages);
    if (after.pass === 'refresh' || entries.inserted + entries.updated + entries.tombstoned === 0) return;
    const found = this.#findingsOf(after.project);
    for (const name of ['inserted', 'updated', 'tombstoned', 'rejected'] as const) found[name] += entries[name];
  }

  #findingsOf(project: string): ProjectFindings {
    const none = { project, inserted: 0, updated: 0, tombstoned: 0, rejected: 0, problem: null };
    const found = this.#projects.get(project) ?? none;
    this.#projects.set(project, found);
    return found;
  }

  async #result(outcome: RefreshPagesResult['outcome'], wait: PermitWait | null = null): Promise<RefreshPagesResult> {
    // Else the next call would begin with it, and count its tries from one.
    for (const reading of this.#readings.values()) {
      const failure = await reading.failure();
      if (failure !== null) await this.#cannotRead(reading.row, failure, wait?.waitUntil ?? this.#nextDueAt);
    }
    return {
      storeId: this.#deps.feedback.identity,
      outcome,
      pages: this.#call.pages,
      requests: this.#requests,
      throttled: this.#throttled,
      entries: this.#entries,
      projects: [...this.#projects.values()].slice(0, mostNamed),
      waiting: wait && waitingOf(wait),
      nextDueAt: this.#nextDueAt,
    };
  }
}

const isUnread = ({ firstPass, cutAt }: RefreshView['projects'][number]): boolean =>
  firstPass !== null || cutAt === null;
