import { counted, countText } from '../../../rules/text.ts';
import type { EntryOrder } from '../slice.ts';
import type { RefreshPage } from './pages.ts';
import { newWeight, type RefreshProject } from './queue.ts';
import { arrivalRate, hourMs } from './rates.ts';

/** How long the store is expected to lag behind a change at the service, in milliseconds; null if no change is expected. */
export interface ExpectedDelays {
  /** New entries: the mean, and the 95th percentile. */
  newMs: number | null;
  newMostMs: number | null;
  /** Changes of open entries. */
  statusMs: number | null;
  /** Edits, deletions and changes of all others. */
  silentMs: number | null;
}

/** Time from an entry's date until it was stored, in milliseconds. */
interface MeasuredDelay {
  newMs: number;
  /** The 95th percentile. */
  newMostMs: number;
  /** How many entries were measured: the latest, none older than a week. */
  entries: number;
}

/** How late the store learns of changes in a project; null without a plan, and without recent entries. */
export interface ProjectDelays {
  expected: ExpectedDelays | null;
  measured: MeasuredDelay | null;
}

export interface ExpectedOfProject extends ExpectedDelays {
  project: string;
  /** How far apart readings of its newest entries are expected to be. */
  intervalMs: number;
}

/** A page with how often it is read. Times in hours. */
interface Read {
  page: RefreshPage;
  /** Requests of one reading, weighted: the worth it must have for each request to be worth 1. */
  cost: number;
  /** Changes an hour that no page of another list shows. */
  own: number;
  shared: Shared[];
  /** It may not go unread for longer. */
  most: number;
  /** Time between two readings for its worth. */
  period: number;
  /** Readings an hour because entries have left the open list, and how long such a reading waits. */
  left: number;
  wait: number;
  /** Readings an hour, for its worth or for entries that have left. */
  often: number;
}

/** Changes an hour that a page of another list shows too; new entries count by their weight. */
interface Shared {
  kind: 'new' | 'status';
  rate: number;
  /** The other page; null if there is none. */
  by: Read | null;
}

/** Expected changes of one kind: how late the store learns of them on average, and at the latest (for new entries). */
interface Part {
  kind: 'new' | 'status' | 'silent';
  /** Changes an hour. */
  rate: number;
  mean: number;
  most: number;
}

/** Share of open entries' changes that close them: the open list shows only that they are gone. */
const closing = 0.5;
/** Share of their changes that are silent: edits and deletions. */
const silent = 0.05;
/** No page is expected to go unread for longer than a year. */
const longest = 24 * 365;
const searches = 28;
const settling = 40;

/**
 * The delays that `perHour` requests an hour achieve when each goes to the page that is worth most. In the steady state
 * every page is read at the same worth (`worthOf`); this finds the worth at which the requests are used up. If two lists
 * show the same entries, their readings fall evenly apart: a page is worth most when the other's reading is longest ago.
 * Leaves out projects that have never been read.
 */
export function expectedDelays(
  pages: readonly RefreshPage[],
  projects: readonly RefreshProject[],
  { perHour, everyMs, at }: { perHour: number; everyMs: number; at: number },
): ExpectedDelays & { projects: ExpectedOfProject[] } {
  const byProject = new Map<string, RefreshPage[]>(projects.map(({ project }) => [project, []]));
  for (const page of pages) if (page.readAt !== null) byProject.get(page.project)?.push(page);
  const known = projects.flatMap((project) => {
    const its = byProject.get(project.project) ?? [];
    return its.length === 0 ? [] : [{ project: project.project, reads: readsOf(its, project, at) }];
  });
  const reads = known.flatMap((project) => project.reads);
  const every = everyMs / hourMs;
  let [low, high] = [-25, 25];
  for (let n = 0; n < searches; n += 1) {
    const worth = (low + high) / 2;
    if (requestsFor(reads, Math.exp(worth), every) > perHour) low = worth;
    else high = worth;
  }
  const parts = known.map((project) => project.reads.flatMap((one) => partsOf(one, every)));
  return {
    ...delaysOf(parts.flat()),
    projects: known.map(({ project, reads: its }, index) => {
      const heads = its.filter(({ page }) => isHead(page)).reduce((sum, { often }) => sum + often, 0);
      return { project, intervalMs: hourMs * Math.max(every, 1 / heads), ...delaysOf(parts[index] ?? []) };
    }),
  };
}

const isHead = ({ list, to }: RefreshPage): boolean => to === null && list !== 'undated';

function readsOf(pages: readonly RefreshPage[], { weight, atMostMs, arrivals }: RefreshProject, at: number): Read[] {
  const reads = pages.map(
    (page): Read => ({
      page,
      cost: page.requests / weight,
      own: page.list === 'open' ? 0 : Math.max(0, page.rate - page.openRate),
      shared: [],
      most: isHead(page) && atMostMs !== null ? atMostMs / hourMs : longest,
      period: longest,
      left: 0,
      wait: 0,
      often: 0,
    }),
  );
  const of = (list: RefreshPage['list']) =>
    reads.filter(({ page }) => page.list === list).sort((a, b) => newestFirst(a.page, b.page));
  const [all, open] = [of('all'), of('open')];
  const [head] = all;
  if (head !== undefined) show('new', newWeight * arrivalRate(arrivals, at), head, open.slice(0, 1));
  let first = 0;
  for (const one of [...all, ...of('undated')]) {
    const { list, from, to, openRate } = one.page;
    while (first < open.length - 1 && to !== null && (open[first]?.page.from ?? Number.NEGATIVE_INFINITY) >= to)
      first += 1;
    let next = list === 'undated' ? open.length : first + 1;
    while (next < open.length && (from === null || (open[next]?.page.to ?? 0) > from)) next += 1;
    show('status', Math.max(0, openRate), one, list === 'undated' ? [] : open.slice(first, next));
  }
  // A page of open entries is never worth reading if one other page shows all its entries and more.
  return reads.filter(
    ({ page: { list }, shared: [one, ...others] }) => list !== 'open' || others.some(({ by }) => by !== one?.by),
  );
}

const newestFirst = (a: RefreshPage, b: RefreshPage): number =>
  (b.to ?? Number.POSITIVE_INFINITY) > (a.to ?? Number.POSITIVE_INFINITY) ? 1 : -1;

/** Adds changes that a page shows and that other pages show too, each an equal part of them. */
function show(kind: Shared['kind'], rate: number, one: Read, others: readonly Read[]): void {
  if (others.length === 0) one.shared.push({ kind, rate, by: null });
  for (const other of others) {
    one.shared.push({ kind, rate: rate / others.length, by: other });
    other.shared.push({ kind, rate: rate / others.length, by: one });
  }
}

/** Requests an hour that it takes to read every page whenever it is worth `worth`. */
function requestsFor(reads: readonly Read[], worth: number, every: number): number {
  let used = 0;
  for (let pass = 0; pass < settling; pass += 1) {
    const before = used;
    for (const one of reads) settle(one, worth, every);
    used = reads.reduce((sum, { page, often }) => sum + page.requests * often, 0);
    if (Math.abs(used - before) < 1e-5 * used) break;
  }
  return used;
}

/** One step towards the period at which a page is read for `worth`. */
function settle(read: Read, worth: number, every: number): void {
  const { page, cost, own, shared, period, most } = read;
  const price = worth * cost;
  let gathered = own * period ** 2;
  let growing = own;
  let leaving = 0;
  for (const { kind, rate, by } of shared) {
    const others = by?.often ?? 0;
    const apart = 1 / (1 / period + others);
    gathered += rate * apart ** 2;
    growing += rate;
    if (kind === 'status' && page.list !== 'open') leaving += closing * rate * others * apart;
  }
  const wanted = period * Math.sqrt((2 * price) / Math.max(gathered, 1e-12 * period ** 2));
  read.period = Math.min(longest, most, Math.max(every, wanted));
  // The page is read at once, or when their ages add up to the price (`worthOf`).
  read.wait = 2 * growing * price <= 1 ? 0 : (Math.sqrt(1 + 2 * leaving * price) - 1) / Math.max(leaving, 1e-12);
  read.left = leaving / (1 + leaving * read.wait);
  const x = read.left * read.period;
  read.often = Math.min(1 / every, x < 1e-3 ? 1 / read.period : read.left / -Math.expm1(-x));
}

function partsOf({ page, own, shared, often, wait }: Read, every: number): Part[] {
  if (page.list === 'open') return [];
  const alone = 0.5 / often;
  const parts: Part[] = [{ kind: 'silent', rate: own, mean: alone, most: 1 / often }];
  for (const { kind, rate, by } of shared) {
    const others = by?.often ?? 0;
    const apart = Math.max(every, 1 / (often + others));
    const shown = apart / 2;
    if (kind === 'new') {
      parts.push({ kind, rate: rate / newWeight, mean: shown, most: apart });
      continue;
    }
    const closed = Math.min(alone, shown + (others / (often + others)) * wait);
    parts.push({ kind, rate: (1 - silent) * rate, mean: closing * closed + (1 - closing) * shown, most: apart });
    parts.push({ kind: 'silent', rate: silent * rate, mean: closed, most: apart });
  }
  return parts;
}

function delaysOf(parts: readonly Part[]): ExpectedDelays {
  const of = (kind: Part['kind']) => parts.filter((part) => part.kind === kind && part.rate > 0);
  const mean = (kind: Part['kind']) => {
    const its = of(kind);
    const rate = its.reduce((sum, part) => sum + part.rate, 0);
    return rate === 0 ? null : (its.reduce((sum, part) => sum + part.rate * part.mean, 0) / rate) * hourMs;
  };
  return { newMs: mean('new'), newMostMs: most(of('new')), statusMs: mean('status'), silentMs: mean('silent') };
}

/** The 95th percentile in milliseconds, if each part's delays spread evenly up to its longest. */
function most(parts: readonly Part[]): number | null {
  if (parts.length === 0) return null;
  const all = parts.reduce((sum, { rate }) => sum + rate, 0);
  let [low, high] = [0, Math.max(...parts.map((part) => part.most))];
  for (let n = 0; n < searches; n += 1) {
    const hours = (low + high) / 2;
    const known = parts.reduce((sum, part) => sum + part.rate * Math.min(1, hours / part.most), 0);
    if (known < 0.95 * all) low = hours;
    else high = hours;
  }
  return high * hourMs;
}

/** Mean and 95th percentile of new entries' delays, in milliseconds; null for none. */
export function measuredDelay(delays: readonly number[]): MeasuredDelay | null {
  const sorted = delays.map((delay) => Math.max(0, delay)).sort((a, b) => a - b);
  const newMostMs = sorted[Math.ceil(0.95 * sorted.length) - 1];
  if (newMostMs === undefined) return null;
  const sum = sorted.reduce((total, delay) => total + delay, 0);
  return { newMs: sum / sorted.length, newMostMs, entries: sorted.length };
}

/** `new entries after 7 min on average (95 %: 16 min), by the latest 200`. */
export const measuredText = ({ newMs, newMostMs, entries }: MeasuredDelay): string =>
  `${delaysText({ newMs, newMostMs, statusMs: null, silentMs: null })}, by the latest ${countText(entries)}`;

/** `new entries after 8 min on average (95 %: 18 min), changes of status 34 min, silent edits and deletions 7 h`. */
export function delaysText({ newMs, newMostMs, statusMs, silentMs }: ExpectedDelays): string {
  const parts = [
    newMs === null ? null : `new entries after ${delayText(newMs)} on average (95 %: ${delayText(newMostMs ?? newMs)})`,
    statusMs === null ? null : `changes of status ${delayText(statusMs)}`,
    silentMs === null ? null : `silent edits and deletions ${delayText(silentMs)}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? 'nothing is known yet' : parts.join(', ');
}

/** How far the first reading of a project has come: the service does not say how many entries there are. */
export interface FirstReading {
  pages: number;
  /** The order in which the service sends entries; null before that is known. */
  order: EntryOrder | null;
  /** The `createdAt` up to which it has come, UTC ISO 8601; null before any. */
  reached: string | null;
}

/** `12 pages so far, entries up to 2026-05-01 are missing`. */
export function firstReadingText({ pages, order, reached }: FirstReading): string {
  const day = reached?.slice(0, 10);
  const rest = order === 'newest' ? `entries up to ${day} are` : `entries from ${day} on are`;
  const missing = day === undefined || order === null || order === 'mixed' ? 'the rest is' : rest;
  return `${counted(pages, 'page')} so far, ${missing} missing`;
}

/** As exact as an expectation is: `40 s`, `8 min`, `7 h`, `2.5 days`. */
export function delayText(ms: number): string {
  if (ms < 90_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  if (ms < 90 * 60_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 36 * hourMs) return `${Number((ms / hourMs).toFixed(ms < 10 * hourMs ? 1 : 0))} h`;
  return `${Number((ms / 24 / hourMs).toFixed(1))} days`;
}
