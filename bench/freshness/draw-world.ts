import { createRandom } from '../../sandbox/random.ts';
import type { EventKind, WorldEvent, WorldFile } from './world.ts';

export const habits = ['even', 'office', 'bulk', 'waking'] as const;

/** What a world is drawn from (README.md). */
export interface WorldPlan {
  projects: number;
  /** Requests of other clients an hour. */
  others: number;
  seed: number;
  /** The share of entries that nobody ever takes up. */
  untriaged: number;
  habits: (typeof habits)[number];
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const start = Date.UTC(2026, 0, 5);
const days = 31;
const end = start + days * dayMs;
const ageDays = 400;
const youngMs = 7 * dayMs;
/** A day, per entry. */
const rates = { triage: 1 / 7, afterwards: 5e-5, editYoung: 0.01, editOld: 1e-4, deleteYoung: 0.005, deleteOld: 5e-5 };

/** Draws a world; the same plan gives the same one. */
export function drawWorld(plan: WorldPlan): WorldFile {
  const random = createRandom(plan.seed * 7_919 + plan.projects);
  const world: WorldFile = {
    start,
    days,
    limit: 100,
    windowMs: hourMs,
    measureFrom: start + 9 * dayMs,
    measureTo: start + 23 * dayMs,
    projects: [],
    entries: [],
    events: [],
    others: [],
  };
  for (let n = 0; n < plan.projects; n += 1) {
    const project = `prj_${n}`;
    world.projects.push(project);
    const size = Math.max(100, Math.round(20_000 / (n + 1)));
    const births = Array.from({ length: size }, () => Math.floor(start - random() * ageDays * dayMs));
    for (let at = start; ; ) {
      at += waiting(random, (arrivalFactor(plan, n, at) * size) / ageDays);
      if (at >= end) break;
      if (arrivalFactor(plan, n, at) > 0 && isBorn(plan, at, random)) births.push(Math.floor(at));
    }
    births.sort((a, b) => a - b);
    for (const [index, createdAt] of births.entries())
      live(world, { project, id: `f${index}`, createdAt }, plan, random);
  }
  world.events.sort((a, b) => a.at - b.at);
  const gap = hourMs / plan.others;
  for (let at = start - hourMs; plan.others > 0 && at < end; at += gap)
    world.others.push(Math.floor(at + random() * gap));
  world.others.sort((a, b) => a - b);
  return world;
}

/** How many times its usual entries a project gets; at a moment with none, time passes by the day. */
function arrivalFactor({ habits: kind }: WorldPlan, project: number, at: number): number {
  if (kind === 'office') return 2;
  if (kind !== 'waking' || project % 2 === 0) return 1;
  return at < start + 12 * dayMs ? 0.01 : 10;
}

/** Of the entries that are drawn for an office, those at night and at weekends are mostly left out. */
const isBorn = ({ habits: kind }: WorldPlan, at: number, random: () => number): boolean =>
  kind !== 'office' || random() < (inOffice(at) ? 1 : 0.1);

const inOffice = (at: number): boolean => {
  const moment = new Date(at);
  return moment.getUTCDay() % 6 !== 0 && moment.getUTCHours() >= 8 && moment.getUTCHours() < 18;
};

/** When a person does what was due at a moment. */
function done({ habits: kind }: WorldPlan, due: number, random: () => number): number {
  if (kind === 'office') {
    let at = due;
    while (!inOffice(at)) at += hourMs;
    return at === due ? due : Math.floor(at / hourMs) * hourMs + random() * hourMs;
  }
  if (kind !== 'bulk') return due;
  // Tuesdays and Fridays from nine to ten.
  let day = Math.floor(due / dayMs) * dayMs;
  while (![2, 5].includes(new Date(day).getUTCDay()) || day + 9 * hourMs < due) day += dayMs;
  return day + 9 * hourMs + random() * hourMs;
}

/** The life of an entry, from its birth to the world's end. */
function live(
  world: WorldFile,
  { project, id, createdAt }: Pick<WorldFile['entries'][number], 'project' | 'id' | 'createdAt'>,
  plan: WorldPlan,
  random: () => number,
): void {
  const isLeftAlone = random() < plan.untriaged;
  let [at, status, isGone] = [createdAt, 'pending', false];
  const events: WorldEvent[] = [];
  const happens = (kind: EventKind) => events.push({ at: Math.floor(at), project, id, kind, status });
  happens('new');
  while (!isGone) {
    const isYoung = at - createdAt < youngMs;
    const isOpen = status === 'pending' || status === 'in_progress';
    const moves = isOpen ? (isLeftAlone ? 0 : rates.triage) : 2 * rates.afterwards;
    const edits = isYoung ? rates.editYoung : rates.editOld;
    const deletions = isYoung ? rates.deleteYoung : rates.deleteOld;
    const due = at + waiting(random, moves + edits + deletions);
    if (isYoung && due - createdAt >= youngMs) {
      at = createdAt + youngMs;
      continue;
    }
    const what = random() * (moves + edits + deletions);
    at = what < moves && isOpen ? Math.max(at + 1, done(plan, due, random)) : due;
    if (at >= end) break;
    if (what < moves) {
      const before = status;
      if (before === 'pending') status = 'in_progress';
      else if (before === 'in_progress') status = random() < 0.8 ? 'resolved' : 'dismissed';
      else if (random() < 0.5) status = 'pending';
      else status = before === 'resolved' ? 'dismissed' : 'resolved';
      happens(isOpen || status === 'pending' ? 'status' : 'silent');
    } else if (what < moves + edits) happens('edit');
    else {
      isGone = true;
      happens('delete');
    }
  }
  const past = events.filter((event) => event.at <= start);
  const last = past.at(-1);
  if (last !== undefined && last.kind !== 'delete') {
    world.entries.push({ project, id, createdAt, status: last.status });
  }
  if (last?.kind !== 'delete') world.events.push(...events.slice(past.length));
}

/** Milliseconds until something that happens so often a day. */
function waiting(random: () => number, perDay: number): number {
  return (-Math.log(1 - random()) / Math.max(1e-9, perDay)) * dayMs;
}
