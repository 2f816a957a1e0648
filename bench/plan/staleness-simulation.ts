import { dice } from '../bundle/polling-simulation.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A request takes so long. */
const requestMs = 200;
const entriesAPage = 100;
/** An incremental pass reads this far back behind the newest entry it knows. */
const overlapMs = dayMs;

interface SimulatedProject {
  /** New entries a day. */
  perDay: number;
  everyMs: number;
}

export interface SimulatedStaleness {
  /** Mean time from an entry's coming to its being in the store, over all entries, in milliseconds. */
  meanMs: number;
  /** The same for each project; null for one that no entry came to. */
  projectMs: (number | null)[];
  requestsAnHour: number;
  /** Most requests in any window. */
  mostInWindow: number;
}

interface Project extends SimulatedProject {
  /** When its entries come, in order. */
  entries: number[];
  /** Entries before this place are stored. */
  stored: number;
  nextStartMs: number;
  waitedMs: number;
}

/**
 * Plays incremental passes of projects to which entries come at random (Poisson), against a sliding window of `limit`
 * requests an hour, for `days` days after one to warm up. It shares no code with the model: a run costs the pages that
 * its entries fill, runs take their turns as they come due, and a run that finds the window full waits.
 */
export function simulateStaleness(
  wanted: readonly SimulatedProject[],
  { limit, days, seed }: { limit: number; days: number; seed: number },
): SimulatedStaleness {
  const roll = dice(seed);
  const endMs = (days + 1) * dayMs;
  const projects = wanted.map(
    (project): Project => ({
      ...project,
      entries: arrivals(project.perDay, endMs, roll),
      stored: 0,
      // Whole milliseconds, so that an hour later is exactly an hour later.
      nextStartMs: Math.floor(roll() * project.everyMs),
      everyMs: Math.round(project.everyMs),
      waitedMs: 0,
    }),
  );
  const sent: number[] = [];
  let now = 0;
  for (;;) {
    const project = projects.reduce((first, other) => (other.nextStartMs < first.nextStartMs ? other : first));
    now = Math.max(now, project.nextStartMs);
    if (now >= endMs) break;
    now = runOnce(project, now, sent, limit);
    // A start that falls into the run is left out.
    while (project.nextStartMs < now) project.nextStartMs += project.everyMs;
  }
  const counted = projects.map(
    (project) => project.entries.slice(0, project.stored).filter((at) => at >= dayMs).length,
  );
  const entries = counted.reduce((sum, count) => sum + count, 0);
  return {
    meanMs: projects.reduce((sum, { waitedMs }) => sum + waitedMs, 0) / entries,
    projectMs: projects.map(({ waitedMs }, index) => (counted[index] ? waitedMs / counted[index] : null)),
    requestsAnHour: sent.filter((at) => at >= dayMs).length / (days * 24),
    mostInWindow: mostInWindow(sent),
  };
}

/** Reads everything from the overlap up to what has come by the start; returns when its last page is stored. */
function runOnce(project: Project, startMs: number, sent: number[], limit: number): number {
  const { entries } = project;
  const newest = entries[project.stored - 1];
  const from =
    newest === undefined
      ? 0
      : entries.findLastIndex((at, place) => place < project.stored && at < newest - overlapMs) + 1;
  let to = project.stored;
  let now = startMs;
  let first = true;
  for (let page = 0; first || page < Math.ceil((to - from) / entriesAPage); page += 1) {
    now = Math.max(now, (sent.at(-limit) ?? Number.NEGATIVE_INFINITY) + hourMs);
    // What a run reads is what is there when its first request leaves.
    if (first) while ((entries[to] ?? Number.POSITIVE_INFINITY) <= now) to += 1;
    first = false;
    sent.push(now);
    now += requestMs;
  }
  for (const at of entries.slice(project.stored, to)) if (at >= dayMs) project.waitedMs += now - at;
  project.stored = to;
  return now;
}

function arrivals(perDay: number, endMs: number, roll: () => number): number[] {
  const times: number[] = [];
  for (let at = 0; ; ) {
    at += (-Math.log(1 - roll()) * dayMs) / perDay;
    if (at >= endMs) return times;
    times.push(at);
  }
}

function mostInWindow(sent: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (const [place, at] of sent.entries()) {
    while ((sent[first] ?? at) <= at - hourMs) first += 1;
    most = Math.max(most, place - first + 1);
  }
  return most;
}
