import { countText } from '../../rules/text.ts';
import { type AxisUnit, isCutShort, type TimeAxis } from '../rules/report-figures.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const narrowSpace = '\u202F';

const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** `42 %` of a share between 0 and 1. */
export function percentText(share: number): string {
  return `${Math.round(share * 100)}${narrowSpace}%`;
}

/** `40 minutes`, `5.5 hours`, `3.4 days`: changes are not observed more precisely than two digits. */
export function waitText(ms: number): string {
  const of = (value: number, unit: string) => {
    const text = value < 10 ? oneDigit.format(value) : countText(Math.round(value));
    return `${text} ${unit}${text === '1' ? '' : 's'}`;
  };
  if (ms < hourMs) return of(Math.max(1, Math.round(ms / minuteMs)), 'minute');
  return ms < 2 * dayMs ? of(ms / hourMs, 'hour') : of(ms / dayMs, 'day');
}

const months = 'January February March April May June July August September October November December'.split(' ');

/** `21 November 2026` of an ISO 8601 moment, in UTC. */
export function dayText(iso: string): string {
  const { day, month, year } = partsOf(iso);
  return `${day} ${month} ${year}`;
}

/** `21 November 2026, 08:05 UTC`. */
export function momentText(iso: string): string {
  return `${dayText(iso)}, ${iso.slice(11, 16)} UTC`;
}

/** A part of an axis in a sentence or a table: `week of 2 November 2026`, `November 2026`. */
export function partText(axis: TimeAxis, index: number): string {
  const { day, month, monthNumber, year } = partsOf(axis.starts[index] ?? axis.end);
  const soFar = index === axis.starts.length - 1 && isCutShort(axis) ? ' (so far)' : '';
  const texts: Record<AxisUnit, string> = {
    day: `${day} ${month} ${year}`,
    week: `week of ${day} ${month} ${year}`,
    month: `${month} ${year}`,
    quarter: `quarter ${Math.floor(monthNumber / 3) + 1} of ${year}`,
    year: `${year}`,
  };
  return texts[axis.unit] + soFar;
}

/** Short labels below an axis, at most `most` and empty ones between them; the first of each year also has the year. */
export function axisLabels({ unit, starts }: TimeAxis, most: number): string[] {
  const step = Math.ceil(starts.length / most);
  let labelled: number | null = null;
  return starts.map((start, index) => {
    if (index % step !== 0) return '';
    const { day, month, monthNumber, year } = partsOf(start);
    const texts: Record<AxisUnit, string> = {
      day: `${day} ${month.slice(0, 3)}`,
      week: `${day} ${month.slice(0, 3)}`,
      month: month.slice(0, 3),
      quarter: `Q${Math.floor(monthNumber / 3) + 1}`,
      year: `${year}`,
    };
    const newYear = unit !== 'year' && year !== labelled;
    labelled = year;
    return newYear ? `${texts[unit]}\n${year}` : texts[unit];
  });
}

/** `by month` */
export function byUnit({ unit }: TimeAxis): string {
  return `by ${unit}`;
}

function partsOf(iso: string): { day: number; month: string; monthNumber: number; year: number } {
  const monthNumber = Number(iso.slice(5, 7)) - 1;
  return {
    day: Number(iso.slice(8, 10)),
    month: months[monthNumber] ?? '',
    monthNumber,
    year: Number(iso.slice(0, 4)),
  };
}

/** Names for the interface's values; others keep theirs. */
const names: ReadonlyMap<string, string> = new Map([
  ['contextual', 'page comment'],
  ['thumbs_only', 'page rating'],
  ['agent', 'agent comment'],
  ['code_snippet', 'code snippet note'],
  ['in_progress', 'in progress'],
]);

/** A source or status in words; null stands for all others. */
export function nameText(name: string | null): string {
  return name === null ? 'others' : (names.get(name) ?? name);
}

/** Many of a source, in words. */
export const severalText = (source: string | null): string =>
  source !== null && names.has(source) ? `${nameText(source)}s` : nameText(source);

/** Two-sided normal quantile of 95 %. */
const z = 1.96;

export interface Interval {
  low: number;
  high: number;
}

/** The 95 % score interval of `yes` of `votes` (E. B. Wilson, 1927): right for few votes and near 0 and 1 too. */
export function wilsonInterval(yes: number, votes: number): Interval {
  if (votes === 0) return { low: 0, high: 1 };
  const share = yes / votes;
  const scale = 1 + z ** 2 / votes;
  const middle = (share + z ** 2 / (2 * votes)) / scale;
  const reach = (z / scale) * Math.sqrt((share * (1 - share)) / votes + z ** 2 / (4 * votes ** 2));
  return { low: Math.max(0, middle - reach), high: Math.min(1, middle + reach) };
}

/** Whether two shares differ significantly at 95 % (test of two proportions). */
export function sharesDiffer(a: { yes: number; no: number }, b: { yes: number; no: number }): boolean {
  const [of, from] = [a.yes + a.no, b.yes + b.no];
  const pooled = (a.yes + b.yes) / (of + from);
  const spread = Math.sqrt(pooled * (1 - pooled) * (1 / of + 1 / from));
  return spread > 0 && Math.abs(a.yes / of - b.yes / from) > z * spread;
}
