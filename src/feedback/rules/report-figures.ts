/** Unit of a time axis. Weeks begin on Monday; everything is UTC. */
export type AxisUnit = 'day' | 'week' | 'month' | 'quarter' | 'year';

export interface TimeAxis {
  unit: AxisUnit;
  /** Start of each part, UTC ISO 8601 with milliseconds, oldest first; the first may be before the data. */
  starts: string[];
  /** Exclusive end, which may cut the last part short. */
  end: string;
}

export interface AxisSpan {
  /** Bounds a person asked for, UTC ISO 8601; `to` is exclusive. */
  from?: string;
  to?: string;
  /** The oldest moment with data, an entry or a closing; null without data. */
  oldest: string | null;
  now: Date;
}

const dayMs = 86_400_000;
/** Default span of charts: one entry with an ancient date must not squeeze all others into a corner. */
const shownMonths = 24;
const mostParts = 60;

/**
 * Divides a span into parts for a chart: up to 45 days, weeks up to half a year, months up to three years, quarters up to
 * twelve, then years. Null without data in it.
 */
export function timeAxis({ from, to, oldest, now }: AxisSpan): TimeAxis | null {
  if (oldest === null) return null;
  const end = Math.min(to === undefined ? now.getTime() + 1 : Date.parse(to), now.getTime() + 1);
  const earliest = from === undefined ? startOf(end - 1, 'month', 1 - shownMonths) : Date.parse(from);
  const begin = Math.max(Date.parse(oldest), earliest);
  if (begin >= end) return null;
  const unit = unitFor((end - begin) / dayMs);
  const starts: number[] = [];
  for (let at = startOf(begin, unit); at < end; at = startOf(at, unit, 1)) starts.push(at);
  return {
    unit,
    starts: starts.slice(-mostParts).map((ms) => new Date(ms).toISOString()),
    end: new Date(end).toISOString(),
  };
}

/** The last weeks, this one included. */
export function lastWeeks(weeks: number, now: Date): TimeAxis {
  const starts = Array.from({ length: weeks }, (_, index) => startOf(now.getTime(), 'week', index + 1 - weeks));
  return {
    unit: 'week',
    starts: starts.map((ms) => new Date(ms).toISOString()),
    end: new Date(now.getTime() + 1).toISOString(),
  };
}

/** Whether the last part ends before its day, week, month, quarter or year. */
export function isCutShort({ unit, starts, end }: TimeAxis): boolean {
  const last = starts.at(-1);
  return last !== undefined && startOf(Date.parse(last), unit, 1) > Date.parse(end);
}

function unitFor(days: number): AxisUnit {
  if (days <= 45) return 'day';
  if (days <= 190) return 'week';
  if (days <= 3 * 366) return 'month';
  return days <= 12 * 366 ? 'quarter' : 'year';
}

/** When the part of the axis around `ms` begins, or the one `later` parts after it. */
function startOf(ms: number, unit: AxisUnit, later = 0): number {
  const at = new Date(ms);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  switch (unit) {
    case 'day':
      return Date.UTC(year, month, day + later);
    case 'week':
      return Date.UTC(year, month, day - ((at.getUTCDay() + 6) % 7) + 7 * later);
    case 'month':
      return Date.UTC(year, month + later);
    case 'quarter':
      return Date.UTC(year, month - (month % 3) + 3 * later);
    case 'year':
      return Date.UTC(year + later, 0);
  }
}

/** The entries of a report: those created within the bounds, UTC ISO 8601, `to` exclusive. */
export interface ReportQuery {
  org: string;
  project: string;
  from?: string;
  to?: string;
  /** Most recent comments to read; with 0 no written text is read at all. */
  comments: number;
  now: Date;
}

export interface Votes {
  yes: number;
  no: number;
}

/** A source or status; `name` is null for the sum of the less frequent ones. */
export interface Series {
  name: string | null;
  entries: number;
  /** Entries in each part of the axis; the rest of `entries` is outside it. */
  over: number[];
}

/** Observed time from an entry's creation to its closing. */
export interface Waits {
  closed: number;
  medianMs: number;
  /** 90th percentile. */
  p90Ms: number;
}

export interface AgentPage {
  path: string;
  entries: number;
  open: number;
  /** The most frequent complaints. */
  complaints: Complaint[];
}

/** Entries with the same text. */
export interface Complaint extends Excerpt {
  times: number;
}

/** The beginning of a written text. */
export interface Excerpt {
  text: string;
  /** Characters left out at the end. */
  cut: number;
}

export interface RecentComment extends Excerpt {
  path: string;
  source: string;
  status: string;
  helpful: boolean | null;
  /** UTC ISO 8601; null for an unreadable date. */
  createdAt: string | null;
}

/** Figures of a project (contracts.md `feedback report`): no contacts, no code, no entry that the service lacks now. */
export interface ReportFigures {
  entries: number;
  /** Those without a readable date; none with bounds. */
  undated: number;
  /** Entries without a readable date, left out because of bounds. */
  undatedLeftOut: number;
  /** Null when there is nothing to show over time. */
  axis: TimeAxis | null;
  /** Dated entries outside the axis. */
  outsideAxis: number;
  /** Most entries first. */
  sources: Series[];
  statuses: Series[];
  open: { entries: number; oldest: string | null };
  /** Votes of contextual entries on whether the page helped. */
  helpful: Votes;
  helpfulOver: Votes[];
  votedPages: number;
  mostVoted: (Votes & { path: string })[];
  /** Most votes against first. */
  worst: (Votes & { path: string })[];
  /** Entries closed within the bounds; null when none was observed. */
  waits: Waits | null;
  /** By the part of the axis of the closing. */
  waitsOver: (Waits | null)[];
  agents: { entries: number; paths: number; pages: AgentPage[] };
  /** Number of entries with a comment; `recent` holds the newest. */
  commented: number;
  recent: RecentComment[];
}

/**
 * The key that all feedback paths of one document share: `path` is a path or a whole address, with or without query,
 * fragment and a slash at the end (service-interface.md). E.g. `/a/b` of `https://docs.example/a/b/?x#y`.
 */
export function documentKey(path: string): string {
  const place = path.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '');
  const more = place.search(/[?#]/);
  let end = more === -1 ? place.length : more;
  while (place.endsWith('/', end) && end > 0) end -= 1;
  return end === 0 && path !== '' ? '/' : place.slice(0, end);
}
