import { barText, clockTime, factsTable, forecastText, spanText } from './details-text.ts';
import type { WaitReason, WindowView } from './permits.ts';

/** Why an asker waits, in words. */
export const waitText: Record<WaitReason, string> = {
  'window-full': 'the window is full',
  throttled: 'the service refused (429): others use the window',
  probing: 'one request tries whether the service has room again',
  unauthorized: 'the service refuses the API key (401): correct it, and the pass goes on by itself',
  paused: 'the budget was paused by hand',
  'kept-free': 'the requests that are free are kept for others',
};

/** Why nobody is served, in words; null when only the window decides. */
function pauseText({ pausedBy, pausedUntil }: Pick<WindowView, 'pausedBy' | 'pausedUntil'>): string | null {
  const until = pausedUntil === null ? 'until resumed' : `until ${clockTime(pausedUntil)}`;
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
function overrideText({ requests, reserve, until }: NonNullable<WindowView['override']>): string {
  const parts = [
    ...(requests === undefined ? [] : [`${requests} requests`]),
    ...(reserve === undefined ? [] : [`reserve ${reserve}`]),
  ];
  return `${parts.join(', ')} ${until === null ? 'until reset' : `until ${clockTime(until)}`}`;
}

/** The window in words, a name and a value each: the same on the terminal and in the Temporal UI. */
export function windowFacts(view: WindowView): [string, string][] {
  const { limit, reserve, windowMs, used, available, nextFreeAt, strangers, throttledInWindow } = view;
  const facts: [string, string][] = [
    ['window', `${limit} requests in ${spanText(windowMs)}${reserve > 0 ? `, ${reserve} left to others` : ''}`],
    ['used', `${used}`],
    ['free now', `${available}`],
  ];
  if (nextFreeAt !== null) facts.push(['next free', clockTime(nextFreeAt)]);
  const pause = pauseText(view);
  if (pause !== null) facts.push(['paused', pause]);
  if (view.override) facts.push(['set by hand', overrideText(view.override)]);
  if (strangers !== null) facts.push(['others use', `about ${strangers} of ${limit}`]);
  if (throttledInWindow > 0) facts.push(['refused (429)', `${throttledInWindow} in this window`]);
  const done = (forecast: WindowView['holders'][number]['forecast']) =>
    forecast === null ? '' : `, done ${forecastText(forecast)}`;
  for (const { workflowId, class: kind, permits, since, forecast } of view.holders) {
    facts.push(['in use', `${permits} by ${workflowId} (${kind}) since ${clockTime(since)}${done(forecast)}`]);
  }
  for (const { workflowId, class: kind, expectedAt, forecast } of view.waiters) {
    facts.push(['waiting', `${workflowId} (${kind}), expected ${clockTime(expectedAt)}${done(forecast)}`]);
  }
  return facts;
}

/** The window as Markdown for the Temporal UI. */
export function describeWindow(org: string, view: WindowView, now: number): string {
  const slots: [string, string] = ['slots', barText((100 * view.used) / view.limit)];
  return `**Budget of ${org}** as of ${clockTime(now)}\n\n${factsTable([slots, ...windowFacts(view)])}`;
}
