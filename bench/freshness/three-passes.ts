import { openStatuses } from '../../src/feedback/rules/feedback-entry.ts';
import type { World, WorldEntry, WorldPage, WorldQuery } from './world.ts';

/*
 * What the queue took the place of: three passes over each project at fixed intervals. An incremental pass reads what was
 * created since a day before the newest entry it knows; a review the open entries, then looks for those that are no longer
 * open; a sweep everything, then looks for what it missed. Reviews run every 6 hours and sweeps every 7 days, or as often
 * as half of the requests allows; incremental passes share the rest so that new entries wait least, but for those that
 * would run more than every 5 minutes. Where requests are left, all intervals shrink alike until they are used.
 */

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const requestMs = 200;
const pageSize = 100;
const shortest = { incremental: hourMs / 12, review: 6 * hourMs, sweep: 7 * dayMs };
const kinds = ['incremental', 'review', 'sweep'] as const;

interface Stored {
  entry: WorldEntry;
  isOpen: boolean;
  seenAt: number;
}

/** A pass of a project, again and again: over its whole interval for a sweep, a quarter of it for the others. */
interface Schedule {
  project: Project;
  kind: (typeof kinds)[number];
  everyMs: number;
  /** Requests that a run is expected to take: as many as the last one. */
  cost: number;
  used: number;
  run: Run | null;
  request: Request | null;
  dueAt: number;
}

type Range = Omit<WorldQuery, 'project'>;
type Request = Range & { cursor: number | null };
type Answer = WorldPage & { at: number };
type Run = Generator<Request, void, Answer>;

interface Project {
  id: string;
  /** Oldest first but for a few that came together. */
  stored: Map<string, Stored>;
  /** New ones a day. */
  perDay: number;
}

/** Plays a world to its end with so many requests an hour. */
export function playThreePasses(world: World, perHour: number): void {
  const schedules = planned(world, perHour);
  for (let at = world.now + hourMs / perHour; at <= world.end; at += hourMs / perHour) {
    world.advance(at);
    const refused = world.admit(at);
    if (refused !== null) {
      at += refused.retryAfterMs;
      continue;
    }
    const next = schedules.reduce((first, other) => (other.dueAt < first.dueAt ? other : first));
    if (next.request === null) {
      if (next.used > 0) next.cost = next.used;
      next.used = 0;
      next.run = passOf(next.kind, world, next.project, at);
      next.request = next.run.next().value ?? null;
    }
    if (next.run === null || next.request === null) continue;
    next.used += 1;
    const spread = next.kind === 'sweep' ? 1 : 0.25;
    next.dueAt += (spread * next.everyMs) / next.cost;
    const { cursor, ...range } = next.request;
    const page = world.page({ project: next.project.id, ...range }, cursor, at);
    for (const entry of page.entries) keep(world, next.project, entry, at);
    next.request = next.run.next({ ...page, at }).value ?? null;
    if (next.request === null) next.dueAt += (1 - spread) * next.everyMs;
  }
  world.advance(world.end);
}

function planned(world: World, perHour: number): Schedule[] {
  const schedules = world.head.projects.flatMap((id) => {
    const project: Project = { id, stored: new Map(), perDay: 0 };
    for (const entry of world.entriesOf(id)) if (!entry.deleted) keep(world, project, entry, world.now);
    const all = [...project.stored.values()];
    project.perDay = (all.filter(({ entry }) => entry.createdAt > world.now - 28 * dayMs).length + 0.5) / 28;
    const pages = { incremental: project.perDay, review: all.filter(({ isOpen }) => isOpen).length, sweep: all.length };
    return kinds.map((kind): Schedule => {
      const cost = Math.max(1, Math.ceil(pages[kind] / pageSize));
      return { project, kind, everyMs: shortest[kind], cost, used: 0, run: null, request: null, dueAt: world.now };
    });
  });
  const used = (some: readonly Schedule[]) => some.reduce((sum, { cost, everyMs }) => sum + cost / everyMs, 0);
  const seldom = schedules.filter(({ kind }) => kind !== 'incremental');
  const often = schedules.filter(({ kind }) => kind === 'incremental');
  const stretched = Math.max(1, used(seldom) / (perHour / hourMs / 2));
  for (const schedule of seldom) schedule.everyMs *= stretched;
  const left = perHour / hourMs - used(seldom);
  const freshest = ({ cost, project }: Schedule) => Math.sqrt(cost / project.perDay);
  const scale = often.reduce((sum, one) => sum + one.cost / freshest(one), 0) / left;
  for (const schedule of often) schedule.everyMs = Math.max(shortest.incremental, scale * freshest(schedule));
  return schedules;
}

function keep(world: World, { stored }: Project, entry: WorldEntry, at: number): void {
  world.learn(entry, at + requestMs);
  stored.set(entry.id, { entry, isOpen: openStatuses.includes(entry.status), seenAt: at });
}

function* passOf(kind: Schedule['kind'], world: World, project: Project, startedAt: number): Run {
  const stored = [...project.stored.values()];
  if (kind === 'incremental') {
    const newest = Math.max(0, ...stored.slice(-pageSize).map(({ entry }) => entry.createdAt));
    yield* reading({ from: newest - dayMs, to: null, openOnly: false });
    return;
  }
  const before = stored.filter(({ isOpen }) => isOpen || kind === 'sweep');
  yield* reading({ from: null, to: null, openOnly: kind === 'review' });
  yield* search(world, project, before, startedAt);
}

/** A range, whole. */
function* reading(range: Range): Generator<Request, number, Answer> {
  for (let cursor: number | null = null; ; ) {
    const answer: Answer = yield { ...range, cursor };
    cursor = answer.cursor;
    if (cursor === null) return answer.at;
  }
}

/** Looks again for those that have not been seen since `startedAt`, a page of dates at a time; what is not there is gone. */
function* search(world: World, project: Project, before: readonly Stored[], startedAt: number) {
  const isMissing = ({ entry }: Stored) => (project.stored.get(entry.id)?.seenAt ?? startedAt) < startedAt;
  const missing = new Set(before.filter(isMissing).map(({ entry }) => entry));
  if (missing.size === 0) return;
  const dated = [...project.stored.values()].map(({ entry }) => entry).sort((a, b) => a.createdAt - b.createdAt);
  for (let place = 0; place < dated.length; place += 1) {
    const first = dated[place];
    if (first === undefined || !missing.has(first)) continue;
    const stretch = dated.slice(place, place + pageSize - 5);
    const last = stretch.findLast((entry) => missing.has(entry)) ?? first;
    const at = yield* reading({ from: first.createdAt, to: last.createdAt + 1, openOnly: false });
    for (const entry of stretch) {
      if (!missing.has(entry) || (project.stored.get(entry.id)?.seenAt ?? 0) >= startedAt) continue;
      world.learn(entry, at + requestMs);
      project.stored.delete(entry.id);
    }
    place += stretch.indexOf(last);
  }
}
