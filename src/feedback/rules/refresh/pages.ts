import { pageSize } from '../slice.ts';
import { classOf, dayMs, hourMs, isOpen, type RefreshEntry } from './rates.ts';

/** Lists read page by page: all dated entries, the open ones, and all again for those that no date filter returns. */
export type RefreshList = 'all' | 'open' | 'undated';

/** What was in force when a project's lists were cut. It stays so until they are cut again. */
export interface Cut {
  at: number;
  /** Expected changes per hour, by class (`ratesOf`). */
  rates: readonly number[];
}

/**
 * Sums over the entries of a page, from which its worth at any moment follows without looking at them. Each entry's part
 * depends on nothing but its row and the cut, so the sums are corrected by the old row's part and the new row's.
 */
export interface PageSums {
  /** Entries that are thought to be in the list. */
  entries: number;
  /** Expected changes per hour, `r` of each entry. */
  rate: number;
  /** Of these, those of open entries. */
  openRate: number;
  /** Σ r·t, where t is when an entry was last seen, in hours after the cut. */
  rateSeen: number;
  /** Σ r·t². */
  rateSeenSquared: number;
  /** Entries known to have left the open list. */
  left: number;
  /** Σ t of them, where t is when they left, in hours after the cut. */
  leftSince: number;
}

/** A stretch of one list of a project: a row of `refresh_pages`. Moments in milliseconds since the epoch. */
export interface RefreshPage extends PageSums {
  project: string;
  list: RefreshList;
  /** Inclusive; null for the beginning. */
  from: number | null;
  /** Exclusive; null for the head, which shows new entries. */
  to: number | null;
  /** When the lists were cut (`Cut`): the sums count from here. */
  cutAt: number;
  /** When its last complete reading began; null for a stretch that has never been read. */
  readAt: number | null;
  /** When the complete reading began that missed entries, and since when it may be repeated; null for none. */
  again: number | null;
  againFrom: number | null;
  /** Requests that a reading takes, learnt. */
  requests: number;
}

const noSums: PageSums = { entries: 0, rate: 0, openRate: 0, rateSeen: 0, rateSeenSquared: 0, left: 0, leftSince: 0 };
const sumNames = Object.keys(noSums) as readonly (keyof PageSums)[];

/** Share of a page that is filled: leaves room for new entries, and for neighbours at the bounds. */
const filled = 0.95;

/** What was learnt of the service, as far as it decides how lists are cut. */
export interface PageShape {
  pageSize: number;
  /** The status filter is ignored: there is no open list. */
  ignoresStatus: boolean;
  /** Dates are taken for their days (UTC): pages begin at midnight. */
  coarse: boolean;
  /** Where oldest entries come first, when the head begins: the newest stored date less the overlap; else null. */
  headFrom: number | null;
  /** The head begins no later, though entries be dated later: their clock may be ahead, and others still come before them. */
  headBy: number;
}

const headBy = Number.POSITIVE_INFINITY;
export const usualShape: PageShape = { pageSize, ignoresStatus: false, coarse: false, headFrom: null, headBy };

/** Whether an entry's list holds it. */
export function isIn(list: RefreshList, entry: RefreshEntry): boolean {
  if (list === 'undated') return entry.createdAt === null;
  return entry.createdAt !== null && (list === 'all' || isOpen(entry));
}

/** Adds an entry's part to the sums, or takes it off with the sign -1. */
export function addEntry(sums: PageSums, list: RefreshList, entry: RefreshEntry, cut: Cut, sign: 1 | -1 = 1): void {
  if (!isIn(list, entry)) return;
  sums.entries += sign;
  if (entry.leftAt !== null) {
    // It has changed for sure: what else may have is found with it.
    sums.left += sign;
    sums.leftSince += (sign * (entry.leftAt - cut.at)) / hourMs;
    return;
  }
  const part = sign * (cut.rates[classOf(entry, cut.at)] ?? 0);
  const seen = (entry.seenAt - cut.at) / hourMs;
  sums.rate += part;
  if (isOpen(entry)) sums.openRate += part;
  sums.rateSeen += part * seen;
  sums.rateSeenSquared += part * seen * seen;
}

/** What a change of an entry's row adds to the sums of a page of `list` that covers its date; null for no row. */
export function changeOfSums(
  list: RefreshList,
  before: RefreshEntry | null,
  after: RefreshEntry | null,
  cut: Cut,
): PageSums {
  const sums = { ...noSums };
  if (before !== null) addEntry(sums, list, before, cut, -1);
  if (after !== null) addEntry(sums, list, after, cut, 1);
  return sums;
}

export const covers = ({ from, to }: Pick<RefreshPage, 'from' | 'to'>, moment: number): boolean =>
  (from === null || moment >= from) && (to === null || moment < to);

/**
 * Cuts the lists of a project that has been read into pages. Entries are added by date, newest first, those without a date
 * anywhere, and none of them is kept; `before` are the pages they had. Entries of one moment stay together, so a page may
 * hold more than the service sends at once.
 */
export function listCutter(project: string, cut: Cut, shape: PageShape = usualShape) {
  const all = new Cutter(project, 'all', cut, shape);
  const cutters = shape.ignoresStatus ? [all] : [all, new Cutter(project, 'open', cut, shape)];
  const undated = blankPage(project, 'undated', cut.at);
  return {
    add(entry: RefreshEntry): void {
      for (const cutter of cutters) cutter.add(entry);
      addEntry(undated, 'undated', entry, cut);
    },
    pages(before: readonly RefreshPage[]): RefreshPage[] {
      undated.requests = requestsFor(all.count + undated.entries, shape);
      const lists = [...cutters.map((cutter) => cutter.pages()), undated.entries > 0 ? [undated] : []];
      return lists.flatMap((pages) => inheriting(pages, before));
    },
  };
}

/** Requests that it takes to read this many entries: an empty answer costs one too. */
function requestsFor(entries: number, { pageSize: size }: Pick<PageShape, 'pageSize'> = usualShape): number {
  return Math.max(1, Math.ceil(entries / size));
}

class Cutter {
  private readonly done: RefreshPage[] = [];
  private page: RefreshPage;
  private last: number | null = null;
  private isHead = true;
  count = 0;

  private readonly list: RefreshList;
  private readonly cut: Cut;
  private readonly shape: PageShape;
  private readonly headShare: number;

  constructor(project: string, list: RefreshList, cut: Cut, shape: PageShape, headShare = filled) {
    this.list = list;
    this.cut = cut;
    this.shape = shape;
    this.headShare = headShare;
    this.page = blankPage(project, list, cut.at);
  }

  add(entry: RefreshEntry): void {
    if (!isIn(this.list, entry) || entry.createdAt === null) return;
    const moment = startOf(entry.createdAt, this.shape);
    const { last } = this;
    if (this.page.entries > 0 && last !== null && moment < last && this.isFull(moment, last)) this.next(last);
    addEntry(this.page, this.list, entry, this.cut);
    this.last = moment;
    this.count += 1;
  }

  pages(): RefreshPage[] {
    return [...this.done, this.page].map((page) => ({ ...page, requests: requestsFor(page.entries, this.shape) }));
  }

  private isFull(moment: number, last: number): boolean {
    const { headFrom, headBy, pageSize: size } = this.shape;
    if (this.isHead && last > headBy) return false;
    if (this.isHead && headFrom !== null && moment < headFrom) return true;
    return this.page.entries >= Math.floor(size * (this.isHead ? this.headShare : filled));
  }

  private next(bound: number): void {
    this.done.push({ ...this.page, from: bound });
    this.page = { ...blankPage(this.page.project, this.list, this.cut.at), to: bound };
    this.isHead = false;
  }
}

const startOf = (moment: number, { coarse }: PageShape): number =>
  coarse ? Math.floor(moment / dayMs) * dayMs : moment;

/** A page without entries that covers everything. */
export function blankPage(project: string, list: RefreshList, cutAt: number): RefreshPage {
  return {
    project,
    list,
    from: null,
    to: null,
    cutAt,
    ...noSums,
    readAt: null,
    again: null,
    againFrom: null,
    requests: 1,
  };
}

/** The pages of a list, newest first, with what each takes over (`inherited`), in one walk through both. */
function inheriting(pages: readonly RefreshPage[], before: readonly RefreshPage[]): RefreshPage[] {
  const old = before
    .filter(({ list }) => list === pages[0]?.list)
    .sort((a, b) => (a.from === null ? 1 : b.from === null ? -1 : b.from - a.from));
  let first = 0;
  return pages.map((page) => {
    const isNewer = ({ from }: Stretch) => from !== null && page.to !== null && from >= page.to;
    let end = first;
    for (let one = old[end]; one !== undefined; one = old[end]) {
      if (isNewer(one)) first += 1;
      else if (!overlap(one, page)) break;
      end += 1;
    }
    return inherited(page, old.slice(first, end));
  });
}

/**
 * What a page takes over from those of its list that covered its dates: no entry counts as read later than it was, nor as
 * missed where it was not.
 */
function inherited(page: RefreshPage, before: readonly RefreshPage[]): RefreshPage {
  const old = before.filter((other) => overlap(other, page));
  const earliest = (name: 'readAt' | 'again' | 'againFrom') =>
    old.reduce<number | null>(
      (least, { [name]: at }) => (least === null || at === null ? null : Math.min(least, at)),
      old[0]?.[name] ?? null,
    );
  return { ...page, readAt: earliest('readAt'), again: earliest('again'), againFrom: earliest('againFrom') };
}

type Stretch = Pick<RefreshPage, 'from' | 'to'>;

function overlap(a: Stretch, b: Stretch): boolean {
  return (a.from === null || b.to === null || a.from < b.to) && (b.from === null || a.to === null || b.from < a.to);
}

/** Share of a page at which a head counts as full, and the share that stays in it when it is cut. */
const headFull = 0.98;
const headKept = 0.92;

export const isHeadFull = ({ to, entries }: RefreshPage, { pageSize: size }: PageShape = usualShape): boolean =>
  to === null && entries >= Math.floor(size * headFull);

/**
 * Makes room in a head that has filled (`isHeadFull`): the newest of its `entries` (all, by date, newest first) stay, and
 * the others go to the page `below` it, or to a new one between them when that one has no room. Returns what replaces
 * both. No other entry need be read.
 */
export function shiftHead(
  head: RefreshPage,
  below: RefreshPage | null,
  entries: readonly RefreshEntry[],
  cut: Cut,
  shape: PageShape = usualShape,
): RefreshPage[] {
  const under = below === null ? [] : [below];
  const cutter = new Cutter(head.project, head.list, cut, shape, headKept);
  for (const entry of entries) cutter.add(entry);
  const pages = cutter.pages().map((page) => ({ ...inherited(page, [head]), from: page.from ?? head.from }));
  const last = pages.at(-1);
  if (pages.length < 2 || last === undefined) return [head, ...under];
  if (below === null || last.entries + below.entries > Math.floor(shape.pageSize * filled)) return [...pages, ...under];
  const joined = { ...inherited(below, [below, last]), to: last.to };
  for (const name of sumNames) joined[name] += last[name];
  return [...pages.slice(0, -1), { ...joined, requests: requestsFor(joined.entries, shape) }];
}
