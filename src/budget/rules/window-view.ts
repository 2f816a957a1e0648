import {
  barText,
  clockTime,
  counted,
  factsTable,
  forecastText,
  ignoredFacts,
  invisible,
  momentText,
  spanText,
} from '../../rules/text.ts';
import { forecaster } from './grant-or-wait.ts';
import { type Limits, limitsIn, type WaitReason } from './permits.ts';
import {
  advance,
  capacityOf,
  expectedReleases,
  freeMoments,
  latestReleases,
  limitOf,
  occupiedNow,
  programViews,
  reserveOf,
} from './window.ts';
import {
  active,
  blockedBy,
  comeBackGraceMs,
  countsAsFullUntil,
  emptyWindow,
  requestsOfOthers,
  type WindowState,
} from './window-state.ts';

/** The window as `budget show` prints it (contracts.md). */
export type WindowView = ReturnType<typeof viewOf>;

/** The window at `at`, as `budget show` prints it; `forecasts`: of how many holders and of how many waiters. */
export function viewOf(before: WindowState, at: number, forecasts = Number.POSITIVE_INFINITY) {
  const state = advance(before, at);
  const occupied = latestReleases(state);
  const blocked = blockedBy(state, null);
  const unknown = countsAsFullUntil(state);
  const next = Math.max(unknown ?? 0, freeMoments(state, occupied, 0, 1)[0] ?? 0);
  const forecastOf = forecaster(state);
  const pause = blocked && blocked.reason !== 'probing' && blocked.reason !== 'window-full' ? blocked.reason : null;
  return {
    limit: limitOf(state),
    /** Requests left to other clients now: the configured reserve, or their observed use if that is more. */
    reserve: reserveOf(state),
    windowMs: state.settings.windowMs,
    used: occupiedNow(state),
    available: blocked === null ? Math.max(0, capacityOf(state) - occupied.length) : 0,
    /** No permit is granted before; null when only the window decides. */
    pausedUntil: state.paused ? state.paused.until : pause && blocked ? blocked.until : null,
    pausedBy: pause,
    nextFreeAt: next <= state.now ? null : next,
    /** The ledger was lost or reset, or its clock was ahead: its window counts as full until then; null when all is known. */
    countsAsFullUntil: unknown,
    /** Requests per window that other clients are seen to use; null when nothing is known of them. */
    otherClients: requestsOfOthers(state.sightings, limitOf(state)),
    override: state.override,
    /** What was configured last, by docferry.yaml or by another client. */
    configured: limitsIn(state.settings),
    holders: active(state).map((lease, i) => ({
      workflowId: lease.holder,
      class: lease.class,
      permits: lease.notBefore.length,
      since: lease.grantedAt,
      forecast: i < forecasts ? forecastOf(lease) : null,
    })),
    waiters: state.waiters.map((waiter, i) => ({
      workflowId: waiter.holder,
      class: waiter.class,
      since: waiter.since,
      expectedAt: waiter.expectedAt,
      forecast: i < forecasts ? forecastOf(waiter) : null,
    })),
    /** Programs that ask through the gateway, with the slots they hold and the most per cent of the limit they may. */
    programs: programViews(state),
    throttledInWindow: state.throttles.length,
    configuredAt: state.settings.configuredAt ?? null,
    /** Signals that made no sense since the budget began. */
    ignored: state.ignored,
    releases: expectedReleases(state),
  };
}

/** The window of an organization that never asked for a permit. */
export const untouchedView = (limits: Limits): WindowView => viewOf(emptyWindow(limitsIn(limits), 0), 0);

/** Why an asker waits, in words. */
export const waitText: Record<WaitReason, string> = {
  'window-full': 'the window is full',
  throttled: 'the service refused (429): others use the window',
  probing: 'one request is testing whether the service has room again',
  unauthorized:
    'the service refuses the API key (401): correct it and run `docferry doctor --key`, and the pass continues',
  paused: 'the budget was paused by hand',
  share: 'the program holds its share of the window',
};

/** Why nothing is granted, in words; null when only the window decides. */
function pauseText(
  { pausedBy, pausedUntil }: Pick<WindowView, 'pausedBy' | 'pausedUntil'>,
  now: number,
): string | null {
  const end = pausedUntil === null ? null : momentText(pausedUntil, now);
  const until = end === null ? 'until resumed' : `until ${end}`;
  const words = {
    paused: `by hand ${until}`,
    throttled: `by the service (429) ${until}`,
    unauthorized: `the service refuses the API key (401); the next try is at ${end}, or at once by \`docferry doctor --key\``,
  };
  return pausedBy && words[pausedBy];
}

/** Why nothing of an organization is read now, in words; null while the window, as it mostly does, soon grants again. */
export function standstillText(view: WindowView, now: number): string | null {
  if (view.countsAsFullUntil !== null) {
    return `${forgotten}: nothing is granted until ${momentText(view.countsAsFullUntil, now)}`;
  }
  const pause = pauseText(view, now);
  if (pause === null) return fullText(view, now);
  if (view.pausedBy === 'unauthorized') return pause;
  return `the budget is paused ${pause}${view.pausedBy === 'throttled' ? othersText(view) : ''}`;
}

const othersText = ({ otherClients, limit }: WindowView): string =>
  otherClients === null ? '' : `; other clients use about ${otherClients} of ${limit}`;

/** A full window that grants nothing for longer than this is said; shorter waits are part of reading at a pace. */
const shortWaitMs = 5 * 60_000;

/** Until when and why the window is full, if nothing is granted for long after its last request. */
function fullText(view: WindowView, now: number): string | null {
  const { nextFreeAt, releases, windowMs, limit, holders, override, configured } = view;
  const lastRequestAt = (releases.at(-1) ?? now) - windowMs;
  // At an even pace, a small limit grants one request now and then.
  const usualMs = Math.max(shortWaitMs, (2 * windowMs) / limit);
  if (nextFreeAt === null || holders.length > 0 || nextFreeAt - lastRequestAt <= usualMs) return null;
  const { requests = configured.requests, reserve = configured.reserve } = override ?? {};
  const isLowered = override !== null && requests - reserve < configured.requests - configured.reserve;
  const cause = isLowered ? `; set by hand: ${overrideText(override, now)}` : othersText(view);
  return `the window is full until ${momentText(nextFreeAt, now)}: ${usedText(view, ' used')}${cause}`;
}

/** Requests used, of how many, in the words that follow: `68 of 40 used (limit lowered)` if more were used before. */
export const usedText = ({ used, limit }: Pick<WindowView, 'used' | 'limit'>, words: string): string =>
  `${used} of ${limit}${words}${used > limit ? ' (limit lowered)' : ''}`;

/** What a person set by hand, in words. */
export function overrideText(
  { requests, reserve, until, by }: NonNullable<WindowView['override']>,
  now: number,
): string {
  const parts = [
    ...(requests === undefined ? [] : [counted(requests, 'request')]),
    ...(reserve === undefined ? [] : [`reserve ${reserve}`]),
  ];
  // `replaceAll` would move the place in the pattern, which is frozen in workflows.
  const who = by === undefined ? '' : `, by ${by.split(invisible).join('\uFFFD')}`;
  return `${parts.join(', ')} ${until === null ? 'until reset' : `until ${momentText(until, now)}`}${who}`;
}

/** Why a window counts as full, in words. */
export const forgotten = 'the ledger was lost or reset, or its clock was ahead';

export const pauseWords = {
  paused: 'paused by hand',
  throttled: 'paused by the service (429)',
  unauthorized: 'paused by a refused key (401)',
} as const;

/** Holders, and waiters, that the Temporal UI shows: the details are rendered again and again. */
export const detailRows = 20;

/** The window as pairs of name and value: the same on the terminal and, with fewer rows, in the Temporal UI. */
export function windowFacts(view: WindowView, now: number, rows = Number.POSITIVE_INFINITY): [string, string][] {
  const { limit, reserve, windowMs, used, available, nextFreeAt, otherClients, throttledInWindow, ignored } = view;
  const facts: [string, string][] = [
    [
      'window',
      `${counted(limit, 'request')} in ${spanText(windowMs)}${reserve > 0 ? `, ${reserve} left to others` : ''}`,
    ],
    ['used', `${used}`],
    ['free now', `${available}`],
  ];
  if (nextFreeAt !== null) facts.push(['next free', momentText(nextFreeAt, now)]);
  if (view.countsAsFullUntil !== null) facts.push(['counts as full', standstillText(view, now) ?? '']);
  const pause = pauseText(view, now);
  if (pause !== null) facts.push(['paused', pause]);
  if (view.override) facts.push(['set by hand', overrideText(view.override, now)]);
  if (otherClients !== null) facts.push(['others use', `about ${otherClients} of ${limit}`]);
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
    const at = Math.max(expectedAt, view.pausedUntil ?? 0);
    const isLate = at + comeBackGraceMs <= now;
    const due = isLate ? `late since ${momentText(at, now)}` : `expected ${momentText(at, now)}`;
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
