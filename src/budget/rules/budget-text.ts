import { barText, clockTime, factsTable, forecastText, ignoredFacts, momentText, spanText } from '../../rules/details-text.ts';
import { counted } from '../../rules/quantities.ts';
import type { WaitReason, WindowView } from './permits.ts';
import { comeBackGraceMs } from './waiter-order.ts';

/** Why an asker waits, in words. */
export const waitText: Record<WaitReason, string> = {
  'window-full': 'the window is full',
  throttled: 'the service refused (429): others use the window',
  probing: 'one request is testing whether the service has room again',
  unauthorized: 'the service refuses the API key (401): correct it, and the pass continues',
  paused: 'the budget was paused by hand',
  'kept-free': 'the free requests are kept for others',
  share: 'the program holds its share of the window',
};

/** Why nothing is granted, in words; null when only the window decides. */
function pauseText(
  { pausedBy, pausedUntil }: Pick<WindowView, 'pausedBy' | 'pausedUntil'>,
  now: number,
): string | null {
  const until = pausedUntil === null ? 'until resumed' : `until ${momentText(pausedUntil, now)}`;
  switch (pausedBy) {
    case null:
      return null;
    case 'paused':
      return `by hand ${until}`;
    case 'throttled':
      return `by the service (429) ${until}`;
    case 'unauthorized':
      return `the service refuses the API key (401); tried again ${until.replace('until', 'at')}`;
  }
}

/** What a person set by hand, in words. */
function overrideText({ requests, reserve, until }: NonNullable<WindowView['override']>, now: number): string {
  const parts = [
    ...(requests === undefined ? [] : [counted(requests, 'request')]),
    ...(reserve === undefined ? [] : [`reserve ${reserve}`]),
  ];
  return `${parts.join(', ')} ${until === null ? 'until reset' : `until ${momentText(until, now)}`}`;
}

/** Holders, and waiters, that the Temporal UI shows: the details are rendered again and again. */
export const detailRows = 20;

/** The window as pairs of name and value: the same on the terminal and, with fewer rows, in the Temporal UI. */
export function windowFacts(view: WindowView, now: number, rows = Number.POSITIVE_INFINITY): [string, string][] {
  const { limit, reserve, windowMs, used, available, nextFreeAt, strangers, throttledInWindow, ignored } = view;
  const facts: [string, string][] = [
    [
      'window',
      `${counted(limit, 'request')} in ${spanText(windowMs)}${reserve > 0 ? `, ${reserve} left to others` : ''}`,
    ],
    ['used', `${used}`],
    ['free now', `${available}`],
  ];
  if (nextFreeAt !== null) facts.push(['next free', momentText(nextFreeAt, now)]);
  const pause = pauseText(view, now);
  if (pause !== null) facts.push(['paused', pause]);
  if (view.override) facts.push(['set by hand', overrideText(view.override, now)]);
  if (strangers !== null) facts.push(['others use', `about ${strangers} of ${limit}`]);
  if (throttledInWindow > 0) facts.push(['refused (429)', `${throttledInWindow} in this window`]);
  facts.push(...ignoredFacts(ignored));
  // A pause without an end leaves no forecast.
  const openEnd = view.pausedBy === 'paused' && view.pausedUntil === null;
  const done = (forecast: WindowView['holders'][number]['forecast']) =>
    forecast === null || openEnd ? '' : `, done ${forecastText(forecast, now)}`;
  for (const { workflowId, class: kind, permits, since, forecast } of view.holders.slice(0, rows)) {
    facts.push(['in use', `${permits} by ${workflowId} (${kind}) since ${momentText(since, now)}${done(forecast)}`]);
  }
  if (view.holders.length > rows) facts.push(['in use', `by ${view.holders.length - rows} more`]);
  for (const { workflowId, class: kind, expectedAt, forecast } of view.waiters.slice(0, rows)) {
    const isLate = expectedAt + comeBackGraceMs <= now;
    const due = isLate ? `late since ${momentText(expectedAt, now)}` : `expected ${momentText(expectedAt, now)}`;
    const expected = openEnd ? 'until resumed' : `${due}${done(forecast)}`;
    facts.push(['waiting', `${workflowId} (${kind}), ${expected}`]);
  }
  if (view.waiters.length > rows) facts.push(['waiting', `${view.waiters.length - rows} more`]);
  for (const { workflowId, used, share } of view.programs) {
    facts.push(['program', `${workflowId} holds ${used}${share === null ? '' : `, at most ${share} % of the limit`}`]);
  }
  return facts;
}

/** The window as Markdown for the Temporal UI. */
export function describeWindow(org: string, view: WindowView, now: number): string {
  const slots: [string, string] = ['slots', barText((100 * view.used) / view.limit)];
  return `**Budget of ${org}** as of ${clockTime(now)}\n\n${factsTable([slots, ...windowFacts(view, now, detailRows)])}`;
}
