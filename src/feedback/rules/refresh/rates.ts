import { openStatuses } from '../feedback-entry.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** An entry as `refresh` sees it, tombstoned ones excepted. Moments in milliseconds since the epoch. */
export interface RefreshEntry {
  /** Null when it has none, or none that can be understood. */
  createdAt: number | null;
  status: string;
  /** When a reading last returned it. */
  seenAt: number;
  /** When its status was last seen to change; null for never. */
  changedAt: number | null;
  /** Since when it is known to have left the open list (`judged`); null while it is not, or once it was read again. */
  leftAt: number | null;
}

/** Changes seen in the entries of a class, and the hours over which they were watched. */
interface Tally {
  changes: number;
  hours: number;
}

/** Tallies by class: `classCount` of them, in the order of `classOf`. */
export type Tallies = readonly Tally[];

/*
 * Classes of entries that change alike. Open ones by their status and by the time since their last change, so that
 * those nobody ever looks at stop costing requests; all others by age. Ends of the bands in days; the last has none.
 */
const openBands = [0.5, 1, 2, 4, 8, 16, 32, 64];
const closedBands = [1, 2, 4, 8, 16, 32, 64];
const openCount = openBands.length + 1;

export const classCount = openStatuses.length * openCount + closedBands.length + 1;

export const isOpen = ({ status, leftAt }: Pick<RefreshEntry, 'status' | 'leftAt'>): boolean =>
  leftAt === null && openStatuses.includes(status);

/** The class of an entry at a moment. Entries without a date count as old. */
export function classOf(entry: RefreshEntry, at: number): number {
  const place = openStatuses.indexOf(entry.status);
  const createdAt = entry.createdAt ?? Number.NEGATIVE_INFINITY;
  if (place < 0 || entry.leftAt !== null) return openStatuses.length * openCount + bandOf(closedBands, at - createdAt);
  return place * openCount + bandOf(openBands, at - (entry.changedAt ?? createdAt));
}

function bandOf(bands: readonly number[], ms: number): number {
  let band = 0;
  while (band < bands.length && ms >= (bands[band] ?? 0) * dayMs) band += 1;
  return band;
}

/** Changes per hour that are assumed of a class, before anything was seen. */
function assumedRate(kind: number): number {
  const isClosed = kind >= openStatuses.length * openCount;
  const bands = isClosed ? closedBands : openBands;
  const band = isClosed ? kind - openStatuses.length * openCount : kind % openCount;
  const from = bands[band - 1] ?? 0;
  const days = (from + (bands[band] ?? 2 * from)) / 2;
  return (isClosed ? 0.03 / (1 + days) : 1 / (5 + days)) / 24;
}

const assumedRates = Array.from({ length: classCount }, (_, kind) => assumedRate(kind));

/** As many changes as the assumed rate, and as those seen in the whole organization, count for beside a project's own. */
const assumedWeight = 0.5;
const pooledWeight = 10;

/** What was seen decays to a half within this time: habits change. */
const halfLifeMs = 30 * dayMs;

export const noTallies: Tallies = Array.from({ length: classCount }, () => ({ changes: 0, hours: 0 }));

/** What an entry that was read again shows: to be added to the tally of `kind` of its project. */
export interface Lesson extends Tally {
  kind: number;
}

/**
 * The lesson of an entry read again at `at`; `before` is its row as it was stored until then. An entry that had left the
 * open list changed when it left. Null when no time has passed: clocks may jump.
 */
export function lessonOf(before: RefreshEntry, at: number, changed: boolean): Lesson | null {
  const until = before.leftAt ?? at;
  if (until <= before.seenAt) return null;
  const kind = classOf({ ...before, leftAt: null }, (before.seenAt + until) / 2);
  return { kind, changes: changed ? 1 : 0, hours: (until - before.seenAt) / hourMs };
}

/** The tallies after `ms` in which nothing was added. */
export function faded(tallies: Tallies, ms: number): Tallies {
  const left = 0.5 ** (Math.max(0, ms) / halfLifeMs);
  return tallies.map(({ changes, hours }) => ({ changes: changes * left, hours: hours * left }));
}

/** The sum of several projects' tallies. */
export function pooled(all: readonly Tallies[]): Tallies {
  return noTallies.map((_, kind) => ({
    changes: all.reduce((sum, tallies) => sum + (tallies[kind]?.changes ?? 0), 0),
    hours: all.reduce((sum, tallies) => sum + (tallies[kind]?.hours ?? 0), 0),
  }));
}

/**
 * Expected changes per hour of an entry, by class: what the project shows, where that is little what the organization
 * does (`all`, the project included), and where that is little too, the assumed rates.
 */
export function ratesOf(own: Tallies, all: Tallies): number[] {
  return assumedRates.map((assumed, kind) => {
    const common = rateWith(all[kind], assumed, assumedWeight);
    return rateWith(own[kind], common, pooledWeight);
  });
}

function rateWith(seen: Tally | undefined, otherwise: number, weight: number): number {
  return ((seen?.changes ?? 0) + weight) / ((seen?.hours ?? 0) + weight / otherwise);
}

/**
 * How many entries come to a project: two sums over its entries in which each counts less the older it is, by a long and
 * a short memory, as of `at`. A project that wakes is noticed by the short one.
 */
export interface Arrivals {
  at: number;
  long: number;
  short: number;
}

const longMs = 14 * dayMs;
const shortMs = dayMs;

/** The arrivals with entries created at `moments`, some perhaps before `at`. */
export function arrived({ at, long, short }: Arrivals, moments: readonly number[]): Arrivals {
  const until = moments.reduce((latest, moment) => Math.max(latest, moment), at);
  const sums = {
    at: until,
    long: long * Math.exp((at - until) / longMs),
    short: short * Math.exp((at - until) / shortMs),
  };
  for (const moment of moments) {
    sums.long += Math.exp((moment - until) / longMs);
    sums.short += Math.exp((moment - until) / shortMs);
  }
  return sums;
}

/**
 * New entries an hour at a moment. Half an entry is added (the mean under Jeffreys' prior for a Poisson rate), so that a
 * quiet month does not mean never; of the short memory, two standard deviations are taken off.
 */
export function arrivalRate({ at, long, short }: Arrivals, now: number): number {
  const ms = Math.max(0, now - at);
  const lately = short * Math.exp(-ms / shortMs);
  const usual = (long * Math.exp(-ms / longMs) + 0.5) / (longMs / hourMs);
  return Math.max(usual, (lately - 2 * Math.sqrt(lately)) / (shortMs / hourMs));
}
