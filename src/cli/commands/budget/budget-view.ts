import { drift, type Forecast, type Limits, type WindowView } from '../../../budget/rules/permits.ts';
import { forgotten, windowFacts } from '../../../budget/rules/window-view.ts';
import { clockTime, counted, momentText, spanText } from '../../../rules/text.ts';
import type { Paint, Surface } from '../../terminal/output.ts';
import { factLines, indent, isoTime, tableLines } from '../../terminal/text.ts';

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Cells of a strip if the terminal is wide enough. */
export const budgetOrg = 'id of a configured organization; optional when there is only one';

const stripWidth = 50;

/** The limit as a strip: used, free, left to others. */
export function windowStrip({ limit, used, reserve }: WindowView, paint: Paint, width = stripWidth): string {
  const cells = (count: number) => Math.round((Math.max(0, count) / limit) * width);
  const occupied = Math.min(width, cells(used));
  const others = Math.min(width - occupied, cells(Math.min(reserve, limit - used)));
  const free = width - occupied - others;
  return `${paint.cyan('█'.repeat(occupied))}${'░'.repeat(free)}${paint.dim('▒'.repeat(others))}`;
}

/** When occupied slots come free over the next window: the higher, the more. */
export function releaseStrip(
  { releases, windowMs }: WindowView,
  now: number,
  paint: Paint,
  width = stripWidth,
): string {
  const counts = Array.from({ length: width }, () => 0);
  for (const moment of releases) {
    const place = Math.min(width - 1, Math.max(0, Math.floor(((moment - now) / windowMs) * width)));
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const most = Math.max(...counts);
  const strip = counts.map((count) => (count === 0 ? '·' : heights[Math.ceil((count / most) * heights.length) - 1]));
  return `${paint.cyan(strip.join(''))} ${paint.dim(`until ${momentText(now + windowMs, now)}`)}`;
}

const shortestStrip = 4;

/** An organization with what docferry.yaml says of its budget. */
interface Configured {
  id: string;
  budget: Limits;
}

/** The document of `budget show --json` (contracts.md): moments as ISO 8601. */
export function budgetDocument({ id: org, budget }: Configured, view: WindowView): object {
  const { limit, reserve, windowMs, used, available, pausedBy, otherClients, throttledInWindow } = view;
  return {
    org,
    limit,
    reserve,
    windowMs,
    used,
    available,
    pausedUntil: isoTime(view.pausedUntil),
    pausedBy,
    nextFreeAt: isoTime(view.nextFreeAt),
    countsAsFullUntil: isoTime(view.countsAsFullUntil),
    otherClients,
    override: view.override && { ...view.override, until: isoTime(view.override.until) },
    configured: view.configured,
    differs: Object.keys(drift(view.configured, budget)).length > 0,
    holders: view.holders.map(({ since, forecast, ...holder }) => ({
      ...holder,
      since: isoTime(since),
      forecast: forecastDocument(forecast),
    })),
    waiters: view.waiters.map(({ since, expectedAt, forecast, ...waiter }) => ({
      ...waiter,
      since: isoTime(since),
      expectedAt: isoTime(expectedAt),
      forecast: forecastDocument(forecast),
    })),
    programs: view.programs,
    throttledInWindow,
  };
}

export const forecastDocument = (forecast: Forecast | null): object | null =>
  forecast && { ...forecast, doneAt: isoTime(forecast.doneAt) };

/** The window for people, under its heading. */
export function budgetText({ id, budget }: Configured, view: WindowView, now: number, surface: Surface): string {
  const { paint } = surface;
  const heading = `${paint.bold(`budget of ${id}`)} ${paint.dim(`at ${clockTime(now)}`)}`;
  const text = `${heading}\n${budgetLines(view, now, surface)}`;
  const file = limitTexts(drift(budget, view.configured));
  if (file.length === 0) return text;
  const inForce = limitTexts(drift(view.configured, budget)).join(', ');
  const why = `differs from docferry.yaml: ${inForce} instead of ${file.join(', ')}`;
  return `${text}\n  ${paint.yellow(`${why}; \`docferry budget reset ${id}\` takes it back`)}`;
}

function limitTexts({ requests, reserve, windowMs, arrivalMs }: Partial<Limits>): string[] {
  return [
    ...(requests === undefined ? [] : [counted(requests, 'request')]),
    ...(reserve === undefined ? [] : [`${reserve} left to others`]),
    ...(windowMs === undefined ? [] : [`a window of ${spanText(windowMs)}`]),
    ...(arrivalMs === undefined ? [] : [`arrival within ${spanText(arrivalMs)}`]),
  ];
}

export const pauseWords = {
  paused: 'paused by hand',
  throttled: 'paused by the service (429)',
  unauthorized: 'paused by a refused key (401)',
} as const;

/** A line for each organization. */
export function budgetTable(
  budgets: readonly { organization: Configured; view: WindowView }[],
  now: number,
  { columns }: Surface,
): string {
  const rows = budgets.map(({ organization: { id, budget }, view }) => {
    const { used, limit, windowMs, available, holders, waiters, nextFreeAt, throttledInWindow, pausedBy } = view;
    const state = [
      ...(pausedBy === null ? [] : [pauseWords[pausedBy]]),
      ...(view.countsAsFullUntil === null ? [] : [`counts as full: ${forgotten}`]),
      ...(limitTexts(drift(view.configured, budget)).length > 0 ? ['differs from docferry.yaml'] : []),
      ...(throttledInWindow > 0 ? [`${throttledInWindow} refused (429)`] : []),
    ];
    return [
      id,
      `${used} of ${limit} in ${spanText(windowMs)}`,
      `${available}`,
      `${holders.length}`,
      `${waiters.length}`,
      nextFreeAt === null ? '-' : momentText(nextFreeAt, now),
      state.join(', '),
    ];
  });
  return tableLines(['organization', 'used', 'free', 'in use', 'waiting', 'next free', ''], rows, columns);
}

/** A strip of slots, a strip of when they come free, and the facts. */
export function budgetLines(view: WindowView, now: number, { paint, columns }: Surface): string {
  const facts = windowFacts(view, now);
  // Beside the longer strip there are the indentation, the column of names, and when the window ends.
  const names = Math.max('come free'.length, ...facts.map(([name]) => name.length));
  const beside = 2 + names + 2 + ' until '.length + momentText(now + view.windowMs, now).length;
  const width = Math.min(stripWidth, Math.max(shortestStrip, columns - beside));
  const strips: [string, string][] = [['slots', windowStrip(view, paint, width)]];
  if (view.releases.length > 0) strips.push(['come free', releaseStrip(view, now, paint, width)]);
  return indent(factLines([...strips, ...facts]));
}
