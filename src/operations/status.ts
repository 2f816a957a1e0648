import type { Client } from '@temporalio/client';
import type { InService } from '../exports/store/bundle-store.ts';
import { type PassKind, passKinds } from '../feedback/rules/sync.ts';
import type { LatestRecords, ProjectRecord, SiteRecord } from '../feedback/store/run-records.ts';
import { counted } from '../rules/text.ts';
import { exportWorkflowId, workflowIdOf } from '../rules/workflow-ids.ts';
import { type NextStart, nextStarts } from '../schedules/schedules.ts';
import { type RunningWork, runningWork } from '../temporal/runs.ts';
import type { Installation } from './installation.ts';
import { type WaitingSyncs, waitingSyncs } from './syncs.ts';

/** Sites and projects that are looked at. */
export interface Selection {
  sites: { org: string; domain: string }[];
  projects: { org: string; project: string }[];
}

/** What goes on with a site or project, the first that fits. */
export const lineStates = ['running', 'waiting', 'awaiting-approval', 'unauthorized', 'held', 'idle'] as const;
type LineState = (typeof lineStates)[number];

/** A line of `status` (contracts.md). Times are UTC ISO 8601. */
export interface SiteLine extends Omit<SiteRecord, 'lastOutcome' | 'lastAt' | 'exportedAt'>, InService {
  /** Null while Temporal is down. */
  state: LineState | null;
  /** Of the running export. */
  phase: string | null;
  lastOutcome: SiteRecord['lastOutcome'] | null;
  lastAt: string | null;
  nextAt: string | null;
  /** Null while Temporal does not answer. */
  paused: boolean | null;
  /** Since when the last export with a version has been longer ago than `lateAfter`; null while it is not. */
  staleSince: string | null;
}

export interface ProjectLine extends ProjectRecord {
  state: LineState | null;
  running: PassKind[];
  nextAt: string | null;
  /** Null while Temporal does not answer. */
  paused: boolean | null;
  /** Since when its newest entries have been read longer ago than `freshness`; null while they were not. */
  staleSince: string | null;
}

/** An organization's limits, as configured. */
interface Limits {
  id: string;
  sites: readonly { domain: string; lateAfterMs?: number }[];
  projects: readonly { id: string; freshnessMs: number }[];
}

/** Counts by state, and of what fails. */
export type Totals = Record<'all' | 'failing' | LineState, number>;

/** What Temporal knows; null for a question that it has not answered. */
interface Live {
  running: readonly RunningWork[] | null;
  starts: ReadonlyMap<string, NextStart> | null;
  syncs: WaitingSyncs;
}

/** What was found; null for a part that does not answer. */
export interface Facts {
  live: Live | null;
  records: LatestRecords | null;
  inService: ReadonlyMap<string, InService> | null;
}

export function siteLines(
  { sites }: Selection,
  { live, records, inService }: Facts,
  organizations: readonly Limits[],
  now: number,
): SiteLine[] {
  const limits = new Map(organizations.flatMap((org) => org.sites.map((site) => [site.domain, site.lateAfterMs])));
  const latest = new Map(records?.sites.map((record) => [exportWorkflowId(record.org, record.domain), record]));
  const running = new Map(live?.running?.map((work) => [work.workflowId, work]));
  return sites.map(({ org, domain }) => {
    const id = exportWorkflowId(org, domain);
    const record = latest.get(id);
    const start = live?.starts?.get(id);
    const { current = null, held = null } = inService?.get(domain) ?? {};
    const work = running.get(id);
    return {
      org,
      domain,
      state: live?.running ? siteState(work, held) : null,
      phase: work?.phase ?? null,
      lastOutcome: record?.lastOutcome ?? null,
      lastAt: record?.lastAt ?? null,
      lastReason: record?.lastReason ?? null,
      nextAt: start?.nextAt ?? null,
      paused: live?.starts ? (start?.paused ?? false) : null,
      current,
      held,
      failingSince: record?.failingSince ?? null,
      staleSince: staleSince(record?.exportedAt, limits.get(domain), now),
    };
  });
}

export function projectLines(
  { projects }: Selection,
  { live, records }: Facts,
  organizations: readonly Limits[],
  now: number,
): ProjectLine[] {
  const limits = new Map(
    organizations.flatMap(({ id: org, projects: configured }) =>
      configured.map(({ id: project, freshnessMs }) => [nameOf({ org, project }), freshnessMs]),
    ),
  );
  const latest = new Map(records?.projects.map((record) => [nameOf(record), record]));
  const running = new Map(live?.running?.map((work) => [work.workflowId, work]));
  return projects.map(({ org, project }) => {
    const passes = passKinds.map((pass) => ({ pass, id: workflowIdOf({ kind: 'sync', org, project, pass }) }));
    const works = passes.flatMap(({ id }) => running.get(id) ?? []);
    const start = live?.starts?.get(workflowIdOf({ kind: 'refresh', org }));
    const record = latest.get(nameOf({ org, project }));
    return {
      org,
      project,
      state: live?.running ? projectState(org, works, live.syncs) : null,
      running: passes.filter(({ id }) => running.has(id)).map(({ pass }) => pass),
      lastPass: record?.lastPass ?? null,
      lastOutcome: record?.lastOutcome ?? null,
      lastAt: record?.lastAt ?? null,
      lastReason: record?.lastReason ?? null,
      nextAt: start?.nextAt ?? null,
      paused: live?.starts ? (start?.paused ?? false) : null,
      newestReadAt: record?.newestReadAt ?? null,
      firstReading: record?.firstReading ?? false,
      verifiedUpTo: record?.verifiedUpTo ?? null,
      failingSince: record?.failingSince ?? null,
      staleSince: staleSince(record?.newestReadAt, limits.get(nameOf({ org, project })), now),
    };
  });
}

/** What has had no run yet may be new, and is not stale. */
function staleSince(last: string | null | undefined, limitMs: number | undefined, now: number): string | null {
  if (limitMs === undefined || !last) return null;
  const since = Date.parse(last) + limitMs;
  return since < now ? new Date(since).toISOString() : null;
}

function siteState(work: RunningWork | undefined, held: string | null): LineState {
  if (work === undefined) return held === null ? 'idle' : 'held';
  return work.phase === 'awaiting-approval' || work.phase === 'unauthorized' ? work.phase : 'running';
}

/** A project reads while one of its passes does; with a refused key nothing does. */
function projectState(org: string, works: readonly RunningWork[], syncs: WaitingSyncs): LineState {
  if (syncs.unauthorized.has(org) || works.some(({ phase }) => phase === 'unauthorized')) return 'unauthorized';
  if (works.length === 0) return 'idle';
  return works.every(({ workflowId }) => syncs.waiting.has(workflowId)) ? 'waiting' : 'running';
}

/** Those that fail or stop at a refused key, with `failed`; those that run or ended a run since the moment `since` (ISO 8601), with one. */
export function shownLines<Line extends SiteLine | ProjectLine>(
  lines: readonly Line[],
  { failed, since }: { failed: boolean; since: string | null },
): Line[] {
  const isRecent = ({ state, lastAt }: Line, moment: string) =>
    (state !== null && state !== 'idle' && state !== 'held') || (lastAt ?? '') >= moment;
  const fails = ({ failingSince, state }: Line) => failingSince !== null || state === 'unauthorized';
  return lines.filter((line) => (!failed || fails(line)) && (since === null || isRecent(line, since)));
}

export function totalsOf(lines: readonly (SiteLine | ProjectLine)[]): Totals {
  const count = (is: (line: SiteLine | ProjectLine) => boolean) => lines.filter(is).length;
  const states = lineStates.map((state) => [state, count((line) => line.state === state)]);
  return {
    all: lines.length,
    failing: count(({ failingSince }) => failingSince !== null),
    ...(Object.fromEntries(states) as Record<LineState, number>),
  };
}

const nameOf = ({ org, project }: { org: string; project: string }): string => JSON.stringify([org, project]);

/** Why a part did not answer, in the words that people see. */
export interface Trouble {
  code: string;
  message: string;
  hint: string | null;
}

/** A part of the installation that did not answer, and the facts that are unknown without it. */
export interface Unavailable extends Trouble {
  part: 'temporal' | 'feedback store' | 'bundle store';
  /** In the plural: they `are unavailable`. */
  unknown: string;
}

/** How to ask each part, with one reading for any number of sites and projects. */
interface FactSources {
  live(): Promise<{ live: Live; failures: Failure[] }>;
  records(): Promise<LatestRecords>;
  inService(): Promise<{ found: ReadonlyMap<string, InService>; failures: Failure[] }>;
}

/** Facts that are unknown though their part answers. */
interface Failure {
  unknown: string;
  error: unknown;
}

/** The sites whose records are damaged, as one failure. */
export function damagedRecords(unknown: string, damaged: ReadonlyMap<string, Error>): Failure[] {
  return [...damaged].slice(0, 1).map(([domain, error]) => {
    const others = damaged.size === 1 ? '' : ` and ${counted(damaged.size - 1, 'other site')}`;
    return { unknown: `${unknown} of ${domain}${others}`, error };
  });
}

const inServiceUnknown = 'versions in service and holds';

/** One connection to Temporal and to each store answers for all that is selected. */
export function factSources({ access, temporal, feedback, bundles }: Installation, selection: Selection): FactSources {
  const domains = selection.sites.map(({ domain }) => domain);
  return {
    live: async () => readLive(await temporal(), access.taskQueue, selection),
    records: async () => (await feedback()).latestRecords(selection),
    async inService() {
      if (domains.length === 0) return { found: new Map(), failures: [] };
      const damaged = new Map<string, Error>();
      const found = await (await bundles()).inService(domains, (domain, error) => damaged.set(domain, error));
      return { found, failures: damagedRecords(inServiceUnknown, damaged) };
    },
  };
}

/** The answers of Temporal and the stores, asked at once. A part that does not answer is named; its facts are null. */
export async function gatherFacts(
  sources: FactSources,
  explain: (error: unknown) => Trouble,
): Promise<{ facts: Facts; unavailable: Unavailable[] }> {
  const unavailable: Unavailable[] = [];
  const add = (part: Unavailable['part'], unknown: string, error: unknown) => {
    const { code, message, hint } = explain(error);
    unavailable.push({ part, unknown, code, message, hint });
  };
  const read = async <Found>(part: Unavailable['part'], unknown: string, ask: () => Promise<Found>) => {
    try {
      return await ask();
    } catch (error) {
      add(part, unknown, error);
      return null;
    }
  };
  const [answered, records, stored] = await Promise.all([
    read('temporal', 'running work and next starts', () => sources.live()),
    read('feedback store', 'results of the last runs', () => sources.records()),
    read('bundle store', inServiceUnknown, () => sources.inService()),
  ]);
  for (const { unknown, error } of answered?.failures ?? []) add('temporal', unknown, error);
  for (const { unknown, error } of stored?.failures ?? []) add('bundle store', unknown, error);
  const live = answered?.live ?? null;
  const inService = stored?.found ?? null;
  return { facts: { live, records, inService }, unavailable: unavailable.sort(byPart) };
}

const parts: readonly Unavailable['part'][] = ['temporal', 'feedback store', 'bundle store'];
const byPart = (a: Unavailable, b: Unavailable): number => parts.indexOf(a.part) - parts.indexOf(b.part);

/**
 * What runs and starts next on the task queue, and what the budgets of the selected projects say, in a few requests. One
 * that Temporal does not answer leaves the others; throws when it answers none.
 */
async function readLive(client: Client, taskQueue: string, { projects }: Selection): ReturnType<FactSources['live']> {
  const [running, starts] = await Promise.allSettled([runningWork(client, taskQueue), nextStarts(client, taskQueue)]);
  if (running.status === 'rejected' && starts.status === 'rejected') throw running.reason;
  const failures = [
    ...(running.status === 'rejected' ? [{ unknown: 'running work (column state)', error: running.reason }] : []),
    ...(starts.status === 'rejected' ? [{ unknown: 'next starts (column next)', error: starts.reason }] : []),
  ];
  const works = running.status === 'fulfilled' ? running.value : null;
  const syncs = await waitingSyncs(client, [...new Set(projects.map(({ org }) => org))]);
  return { live: { running: works, starts: starts.status === 'fulfilled' ? starts.value : null, syncs }, failures };
}

/** Whether a person has to act on it. */
export const needsPerson = ({ failingSince, staleSince, state }: SiteLine | ProjectLine): boolean =>
  failingSince !== null || staleSince !== null || state === 'unauthorized' || state === 'awaiting-approval';

/** What needs a person first, then what runs, the rest as it is. */
export function worstFirst<Line extends SiteLine | ProjectLine>(lines: readonly Line[]): Line[] {
  const rank = (line: Line) => {
    if (line.failingSince !== null) return 0;
    if (needsPerson(line)) return 1;
    return line.state === 'idle' || line.state === null ? 3 : 2;
  };
  return [...lines].sort((a, b) => rank(a) - rank(b));
}
