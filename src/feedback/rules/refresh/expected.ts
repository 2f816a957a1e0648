import { countText } from '../../../rules/text.ts';
import type { RefreshPage } from './pages.ts';
import { newWeight, type RefreshProject } from './queue.ts';
import { arrivalRate, hourMs } from './rates.ts';

/** How long after a change at the service the store is expected to have it, in milliseconds; null where none is expected. */
export interface ExpectedDelays {
  /** New entries: the mean, and within how long 95 % of them are there. */
  newMs: number | null;
  newMostMs: number | null;
  /** Changes of open entries. */
  statusMs: number | null;
  /** Edits, deletions and changes of all others. */
  silentMs: number | null;
}

/** How late new entries came into the store, by their dates, in milliseconds. */
interface MeasuredDelay {
  newMs: number;
  /** Within this, 95 % of them were there. */
  newMostMs: number;
  /** The latest ones, so many, and no older than a week. */
  entries: number;
}

/** How late the store knows what happens in a project: by plan, null without one, and of its latest entries, null without any. */
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
  /** The worth that a reading must have where every request is to have a worth of 1. */
  cost: number;
  /** Changes an hour that no page of another list shows. */
  own: number;
  shared: Shared[];
  /** The longest that it may go unread. */
  most: number;
  /** Between two readings for its worth. */
  period: number;
  /** Readings an hour that entries which have left the open list bring about, and for how long one of them waits. */
  left: number;
  wait: number;
  /** Readings an hour, for its worth or for entries that have left. */
  often: number;
}

/** What a page of another list shows too, an hour; new entries with their weight. */
interface Shared {
  kind: 'new' | 'status';
  rate: number;
  /** Null where there is no such page. */
  by: Read | null;
}

/** Changes of a kind that are expected, how late they are known, and within how long all are (for new entries). */
interface Part {
  kind: 'new' | 'status' | 'silent';
  /** An hour. */
  rate: number;
  mean: number;
  most: number;
}

/** Of the changes of open entries, those that close them: the open list shows only that they have left. */
const closing = 0.5;
/** And those that are silent: edits and deletions. */
const silent = 0.05;
/** No page is expected to go unread for longer than a year. */
const longest = 24 * 365;
const searches = 28;
const settling = 40;

/**
 * What `perHour` requests an hour achieve when each goes to the page that is worth most: in the steady state all pages are
 * read at the same worth (`worthOf`), and it follows from the requests there are. Where two lists show an entry, a page
 * becomes worth a reading when the other one's is longest ago: their readings are evenly apart. Projects that have not
 * been read are left out.
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
  // Where one page shows all that a page of open entries does, it is worth more.
  return reads.filter(
    ({ page: { list }, shared: [one, ...others] }) => list !== 'open' || others.some(({ by }) => by !== one?.by),
  );
}

const newestFirst = (a: RefreshPage, b: RefreshPage): number =>
  (b.to ?? Number.POSITIVE_INFINITY) > (a.to ?? Number.POSITIVE_INFINITY) ? 1 : -1;

/** Notes what a page shows, and pages of open entries that show it too, each an equal part. */
function show(kind: Shared['kind'], rate: number, one: Read, others: readonly Read[]): void {
  if (others.length === 0) one.shared.push({ kind, rate, by: null });
  for (const other of others) {
    one.shared.push({ kind, rate: rate / others.length, by: other });
    other.shared.push({ kind, rate: rate / others.length, by: one });
  }
}

/** The requests an hour with which all pages are read for `worth`. */
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
  // At once, or when their ages together are the price (`worthOf`).
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

/** Within how long 95 % are known, in milliseconds, when each part's delays are spread evenly up to its longest. */
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

/** Of the delays of new entries, in milliseconds; null for none. */
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

/** As exact as an expectation is: `40 s`, `8 min`, `7 h`, `2.5 days`. */
export function delayText(ms: number): string {
  if (ms < 90_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  if (ms < 90 * 60_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 36 * hourMs) return `${Number((ms / hourMs).toFixed(ms < 10 * hourMs ? 1 : 0))} h`;
  return `${Number((ms / 24 / hourMs).toFixed(1))} days`;
}
