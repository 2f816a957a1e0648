import { isIn, type RefreshPage } from './pages.ts';
import { type Arrivals, arrivalRate, hourMs, isOpen, type RefreshEntry } from './rates.ts';

/** A project as the queue sees it. Moments in milliseconds since the epoch. */
export interface RefreshProject {
  project: string;
  /** From the configuration; 1 unless a person wrote otherwise. */
  weight: number;
  /** The deadline for new entries; null for none. */
  atMostMs: number | null;
  arrivals: Arrivals;
  /** When any pass last began to read its newest entries, of either list; null for never. */
  headReadAt: number | null;
}

/** How many times more a new entry counts than a change. */
export const newWeight = 10;

/**
 * What reading a page brings, per request: the entry-hours for which the store is expected to have been behind, Σ r·age²/2
 * over its entries, the same of new ones that are expected, and the age of those known to have left the open list. These
 * cost an hour an hour: to wait pays only where one reading will soon find more. If entries leave a page's open list at the
 * rate r an hour, reading it pays once n have left, where n·(n + 1)/2r is the worth of a reading elsewhere. Half of that
 * suffices here, because the same reading also finds changes that leave no gap in the open list.
 */
export function worthOf(page: RefreshPage, project: RefreshProject, at: number): number {
  const t = (at - page.cutAt) / hourMs;
  const changes = (page.rate * t * t - 2 * page.rateSeen * t + page.rateSeenSquared) / 2;
  const age = (at - (project.headReadAt ?? page.cutAt)) / hourMs;
  const arriving = page.to === null && page.list !== 'undated' ? newWeight * arrivalRate(project.arrivals, at) : 0;
  const { left } = page;
  const more = Math.max(leastRate, page.rate + arriving);
  const known = left === 0 ? 0 : Math.max(left * t - page.leftSince, (left * (left + 1)) / (4 * more));
  return (project.weight * (changes + (arriving * age * age) / 2 + known)) / page.requests;
}

/** No page is taken for one on which nothing ever changes, in changes per hour. */
const leastRate = 1e-6;

/** A page to read, and what for. */
interface Chosen {
  page: RefreshPage;
  /** `again`: what the last reading missed; `deadline`: `atMost`; `worth`: the most staleness for its requests. */
  why: 'again' | 'deadline' | 'worth';
}

/**
 * The page to read next, of all projects; null when nothing has been read yet. First readings read the others. While
 * `deadlinesLeft` (`Pace`), deadlines that would pass before `nextRunAt` come first.
 */
export function nextPage(
  pages: Iterable<RefreshPage>,
  projects: ReadonlyMap<string, RefreshProject>,
  at: number,
  { nextRunAt, deadlinesLeft }: { nextRunAt: number; deadlinesLeft: boolean },
): Chosen | null {
  let best: Chosen | null = null;
  let most = -1;
  for (const page of pages) {
    const project = projects.get(page.project);
    if (project === undefined || page.readAt === null) continue;
    const why = reasonOf(page, project, at, deadlinesLeft ? nextRunAt : null);
    const worth = worthOf(page, project, at);
    if (best !== null && (ranks[why] > ranks[best.why] || (why === best.why && !(worth > most)))) continue;
    best = { page, why };
    most = worth;
  }
  return best;
}

const ranks = { again: 0, deadline: 1, worth: 2 } as const;

function reasonOf(page: RefreshPage, project: RefreshProject, at: number, nextRunAt: number | null): Chosen['why'] {
  if (page.again !== null && at >= (page.againFrom ?? page.again)) return 'again';
  if (nextRunAt === null || project.atMostMs === null || page.to !== null || page.list === 'undated') return 'worth';
  return nextRunAt > (project.headReadAt ?? 0) + project.atMostMs ? 'deadline' : 'worth';
}

/** A complete reading of a page, and what the store holds of its stretch afterwards. */
interface Reading {
  page: RefreshPage;
  /** When its first request was sent. */
  startedAt: number;
  /**
   * The entries of the page's list within its dates (`isIn`, `covers`), as stored after the reading, with an id: those that
   * the reading returned were seen after it began.
   */
  entries: readonly (RefreshEntry & { id: string })[];
  requests: number;
  /** Entries of the project that are not tombstoned. */
  stored: number;
  /** Entries of the project that `refresh` has tombstoned within the hour before, or that other pages miss. */
  missingElsewhere: number;
}

/** What a complete reading says. */
interface Findings {
  /** To be stored instead of the page's own. */
  page: Pick<RefreshPage, 'readAt' | 'again' | 'againFrom' | 'requests'>;
  /** Entries that have left the open list, and since when: the middle between the two readings. */
  left: { id: string; leftAt: number }[];
  /** Entries that two readings have missed. */
  tombstoned: string[];
  /** How many are missing after the first reading. */
  missing: number;
  /** Too many are missing to believe it before a reading in another hour confirms it: docferry notifies people. */
  isMass: boolean;
}

/** Of a project's entries, this share missing at once may be a fault of the service. */
const massShare = 0.1;
/** What is believed only in another hour may be read again after this long. */
const massPauseMs = hourMs;

/** What a complete reading says of entries that it lacks; those that any reading has seen meanwhile are there. */
export function judged(reading: Reading): Findings {
  const { page, startedAt, entries, requests, stored, missingElsewhere } = reading;
  const listed = entries.filter((entry) => isIn(page.list, entry));
  const missing = listed.filter(({ seenAt }) => seenAt < startedAt);
  const read = { readAt: startedAt, again: null, againFrom: null, requests };
  const nothing = { left: [], tombstoned: [], missing: 0, isMass: false };
  if (page.list === 'open') {
    const left = missing.filter(isOpen).map(({ id, seenAt }) => ({ id, leftAt: (seenAt + startedAt) / 2 }));
    return { ...nothing, page: read, left };
  }
  if (missing.length === 0) return { ...nothing, page: read };
  const isMass = missing.length >= listed.length || missing.length + missingElsewhere > massShare * stored;
  // One after this reading is of a clock that was ahead.
  const since = page.again !== null && page.again <= startedAt ? page.again : null;
  const gone = since === null ? [] : missing.filter(({ seenAt }) => seenAt < since);
  const believed = isMass ? since !== null && startedAt >= since + massPauseMs : true;
  const tombstoned = believed ? gone.map(({ id }) => id) : [];
  const left = missing.length - tombstoned.length;
  if (left === 0) return { ...nothing, page: read, tombstoned };
  // The first reading that missed them counts, unless others are missing now.
  const again = gone.length === missing.length && since !== null ? since : startedAt;
  return {
    page: { ...read, again, againFrom: isMass ? again + massPauseMs : again },
    left: [],
    tombstoned,
    missing: left,
    isMass,
  };
}
