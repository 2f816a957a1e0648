import type { BudgetConfig } from '../../../config/config.ts';
import { windowFacts } from '../../../model/budget/budget-text.ts';
import type { Forecast, WindowView } from '../../../model/budget/permits.ts';
import { clockTime, momentText } from '../../../model/details-text.ts';
import type { Paint } from '../../terminal/output.ts';
import { factLines, indent, isoTime } from '../../terminal/text.ts';
import { releaseStrip, stripWidth, windowStrip } from './budget-strip.ts';

/** What a text is drawn on. */
export interface Surface {
  paint: Paint;
  /** Infinite unless it is a terminal. */
  columns: number;
}

const shortestStrip = 4;

/** The window of an organization that never asked for a permit. */
export function untouchedView({ requests, reserve, windowMs }: BudgetConfig): WindowView {
  return {
    limit: requests,
    reserve,
    windowMs,
    used: 0,
    available: Math.max(1, requests - reserve),
    pausedUntil: null,
    pausedBy: null,
    nextFreeAt: null,
    strangers: null,
    override: null,
    holders: [],
    waiters: [],
    programs: [],
    throttledInWindow: 0,
    configuredAt: null,
    ignored: 0,
    releases: [],
  };
}

/** The document of `budget show --json` (contracts.md): moments as ISO 8601. */
export function budgetDocument(org: string, view: WindowView): object {
  const { limit, reserve, windowMs, used, available, pausedBy, strangers, throttledInWindow } = view;
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
    strangers,
    override: view.override && { ...view.override, until: isoTime(view.override.until) },
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
export function budgetText(org: string, view: WindowView, now: number, { paint, columns }: Surface): string {
  const heading = `${paint.bold(`budget of ${org}`)} ${paint.dim(`at ${clockTime(now)}`)}`;
  return `${heading}\n${budgetLines(view, now, { paint, columns })}`;
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
