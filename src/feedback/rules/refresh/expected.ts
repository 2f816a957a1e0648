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
  weight: number;
  /** New entries an hour that it brings as a head; the other list's head brings them too. */
  arriving: number;
  twin: Read | null;
  /** Changes an hour that no page of another list shows. */
  own: number;
  /** Changes an hour that a page of another list shows too. */
  shared: { rate: number; by: Read }[];
  /** The longest that it may go unread. */
  most: number;
  /** Between two readings for its worth. */
  period: number;
  /** Readings an hour. */
  often: number;
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
const searches = 40;
const settling = 4;

/**
 * What `perHour` requests an hour achieve when each goes to the page that is worth most: in the steady state all pages are
 * read at the same worth (`worthOf`), and it follows from the requests there are. The moments at which two lists show an
 * entry are taken as independent. Projects that have not been read are left out.
 */
export function expectedDelays(
  pages: readonly RefreshPage[],
  projects: readonly RefreshProject[],
  { perHour, everyMs, at }: { perHour: number; everyMs: number; at: number },
): ExpectedDelays & { projects: ExpectedOfProject[] } {
  const read = pages.filter(({ readAt }) => readAt !== null);
  const byProject = new Map<string, RefreshPage[]>(projects.map(({ project }) => [project, []]));
  for (const page of read) byProject.get(page.project)?.push(page);
  const known = projects.flatMap((project) => {
    const its = byProject.get(project.project) ?? [];
    return its.length === 0 ? [] : [{ project: project.project, reads: readsOf(its, project, at) }];
  });
  const reads = known.flatMap((project) => project.reads);
  let [low, high] = [-25, 25];
  for (let n = 0; n < searches; n += 1) {
    const worth = (low + high) / 2;
    for (let pass = 0; pass < settling; pass += 1) for (const one of reads) settle(one, Math.exp(worth), everyMs);
    const used = reads.reduce((sum, { page, often }) => sum + page.requests * often, 0);
    if (used > perHour) low = worth;
    else high = worth;
  }
  const parts = known.map((project) => project.reads.flatMap((one) => partsOf(one, Math.exp(high))));
  return {
    ...delaysOf(parts.flat()),
    projects: known.map(({ project, reads: its }, index) => {
      const heads = its.filter(({ page }) => isHead(page)).reduce((sum, { often }) => sum + often, 0);
      return { project, intervalMs: hourMs / heads, ...delaysOf(parts[index] ?? []) };
    }),
  };
}

const isHead = ({ list, to }: RefreshPage): boolean => to === null && list !== 'undated';

function readsOf(pages: readonly RefreshPage[], project: RefreshProject, at: number): Read[] {
  const { weight, atMostMs, arrivals } = project;
  const reads = pages.map((page): Read => {
    const isOpenList = page.list === 'open';
    return {
      page,
      weight,
      arriving: isHead(page) ? newWeight * arrivalRate(arrivals, at) : 0,
      twin: null,
      own: Math.max(0, isOpenList ? 0 : page.rate - page.openRate),
      shared: [],
      most: (isHead(page) ? (atMostMs ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY) / hourMs,
      period: 1,
      often: 1,
    };
  });
  const of = (list: RefreshPage['list']) =>
    reads.filter(({ page }) => page.list === list).sort((a, b) => newestFirst(a.page, b.page));
  share(of('all'), of('open'));
  return reads;
}

const newestFirst = (a: RefreshPage, b: RefreshPage): number =>
  (b.to ?? Number.POSITIVE_INFINITY) > (a.to ?? Number.POSITIVE_INFINITY) ? 1 : -1;

/** Open entries are on the pages of both lists that hold their dates; both come newest first. */
function share(all: readonly Read[], open: readonly Read[]): void {
  const [head, openHead] = [all[0], open[0]];
  if (head !== undefined && openHead !== undefined) [head.twin, openHead.twin] = [openHead, head];
  let first = 0;
  for (const one of all) {
    const { from, to, openRate } = one.page;
    while (first < open.length - 1 && to !== null && (open[first]?.page.from ?? Number.NEGATIVE_INFINITY) >= to)
      first += 1;
    const its: Read[] = [];
    for (let n = first; n < open.length; n += 1) {
      const page = open[n];
      if (page === undefined || (n > first && from !== null && (page.page.to ?? 0) <= from)) break;
      its.push(page);
    }
    if (its.length === 0) one.own += Math.max(0, openRate);
    for (const other of its) {
      const rate = Math.max(0, openRate) / its.length;
      one.shared.push({ rate, by: other });
      other.shared.push({ rate, by: one });
    }
  }
}

/** One step towards the period at which a page is read for `worth`. */
function settle(read: Read, worth: number, everyMs: number): void {
  const { page, weight, period, most, own, shared, arriving, twin } = read;
  const isAll = page.list !== 'open';
  let gathered =
    own * period * period + (twin === null ? arriving * period ** 2 : arriving * agedSquare(period, twin.period));
  let growing = own + arriving;
  let leaving = 0;
  for (const { rate, by } of shared) {
    gathered += rate * agedSquare(period, by.period);
    growing += rate;
    if (!isAll || by.period >= period) continue;
    gathered += closing * rate * (period - by.period) ** 2;
    leaving += closing * rate;
  }
  const price = (worth * page.requests) / weight;
  const grown = Math.max(gathered / 2 / period ** 2, 1e-12);
  const longest = 24 * 365;
  const least = Math.max(everyMs / hourMs / 2, 1e-4);
  const wanted = Math.min(longest, most, Math.max(least, Math.sqrt(price / grown)));
  read.period = Math.sqrt(period * wanted);
  read.often = 1 / read.period + (readWhenLeft(growing, price) ? leaving : 0);
}

/** Whether a page is read as soon as an entry is known to have left the open list (`worthOf`). */
const readWhenLeft = (growing: number, price: number): boolean => 1 / (2 * Math.max(growing, 1e-6)) >= price;

/** The mean square of the age of what this page and another one show, each after its own period, when this one is read. */
function agedSquare(period: number, other: number): number {
  return other >= period ? period ** 2 * (1 - (2 * period) / (3 * other)) : other ** 2 / 3;
}

/** The mean time until either of two pages is read. */
function sooner(one: number, other: number): number {
  const [short, long] = one < other ? [one, other] : [other, one];
  return short / 2 - short ** 2 / (6 * long);
}

function partsOf(read: Read, worth: number): Part[] {
  const { page, own, shared, arriving, twin, often, weight } = read;
  if (page.list === 'open') return [];
  const period = 1 / often;
  const parts: Part[] = [{ kind: 'silent', rate: own, mean: period / 2, most: period }];
  if (arriving > 0) {
    const apart = 1 / (often + (twin?.often ?? 0));
    parts.push({ kind: 'new', rate: arriving / newWeight, mean: apart / 2, most: apart });
  }
  const price = (worth * page.requests) / weight;
  const growing = own + arriving + shared.reduce((sum, { rate }) => sum + rate, 0);
  for (const { rate, by } of shared) {
    const shown = sooner(period, by.period);
    const wait = by.period >= period || readWhenLeft(growing, price) ? 0 : Math.min(period / 2, price);
    const closed = Math.min(period / 2, shown + wait);
    const changed = { kind: 'status', mean: closing * closed + (1 - closing) * shown, most: period } as const;
    parts.push({ ...changed, rate: (1 - silent) * rate });
    parts.push({ kind: 'silent', rate: silent * rate, mean: shown, most: period });
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
