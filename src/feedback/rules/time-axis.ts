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
  /** The oldest moment with data; null without data. */
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
  const earliest =
    from === undefined ? addUnits(startOf(end - 1, 'month'), 'month', 1 - shownMonths) : Date.parse(from);
  const begin = Math.max(Date.parse(oldest), earliest);
  if (begin >= end) return null;
  const unit = unitFor((end - begin) / dayMs);
  const starts: number[] = [];
  for (let at = startOf(begin, unit); at < end; at = addUnits(at, unit, 1)) starts.push(at);
  return {
    unit,
    starts: starts.slice(-mostParts).map((ms) => new Date(ms).toISOString()),
    end: new Date(end).toISOString(),
  };
}

/** Whether the last part ends before its day, week, month, quarter or year. */
export function isCutShort({ unit, starts, end }: TimeAxis): boolean {
  const last = starts.at(-1);
  return last !== undefined && addUnits(Date.parse(last), unit, 1) > Date.parse(end);
}

function unitFor(days: number): AxisUnit {
  if (days <= 45) return 'day';
  if (days <= 190) return 'week';
  if (days <= 3 * 366) return 'month';
  return days <= 12 * 366 ? 'quarter' : 'year';
}

function startOf(ms: number, unit: AxisUnit): number {
  const at = new Date(ms);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  switch (unit) {
    case 'day':
      return Date.UTC(year, month, day);
    case 'week':
      return Date.UTC(year, month, day - ((at.getUTCDay() + 6) % 7));
    case 'month':
      return Date.UTC(year, month);
    case 'quarter':
      return Date.UTC(year, month - (month % 3));
    case 'year':
      return Date.UTC(year, 0);
  }
}

function addUnits(start: number, unit: AxisUnit, count: number): number {
  const at = new Date(start);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  switch (unit) {
    case 'day':
      return Date.UTC(year, month, day + count);
    case 'week':
      return Date.UTC(year, month, day + 7 * count);
    case 'month':
      return Date.UTC(year, month + count);
    case 'quarter':
      return Date.UTC(year, month + 3 * count);
    case 'year':
      return Date.UTC(year + count, 0);
  }
}
