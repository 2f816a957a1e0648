import { hourMs } from './rates.ts';

/**
 * How many requests `refresh` may send, and when: its share of what the limit leaves, at an even pace, and never more than
 * the share (rounded up) in any window. Plain data, moments in milliseconds since the epoch.
 */
export interface Pace {
  /** When `credit` was counted. */
  at: number;
  /** Requests that are due, with fractions. */
  credit: number;
  /** Requests of the share, as [when, how many], ascending; only those of the last window count. */
  sent: readonly Sent[];
  /** Of them, those for deadlines. */
  deadlines: readonly Sent[];
  /** Requests of first readings beyond the share. */
  first: readonly Sent[];
  /** What other clients were seen to use last, in requests a window; null when that was never. */
  others: { requests: number; at: number } | null;
}

type Sent = readonly [at: number, count: number];

/** What decides the pace: from the configuration and from the budget's window as it is now. */
export interface PaceSettings {
  /** From 0 (exclusive) to 1: `refresh.share`. */
  share: number;
  /** Requests in a window, of all clients. */
  limit: number;
  /** Of them, those that neither the reserve nor other clients take. */
  available: number;
  /** What other clients are seen to use, in requests a window; null when nothing is known of them. */
  otherClients: number | null;
  windowMs: number;
  /** How often runs start. */
  everyMs: number;
  /** A project is still read for the first time, and another one has been read. */
  firstReadings: boolean;
}

/** An organization's window, as far as refresh needs it. */
export interface KnownWindow extends Pick<PaceSettings, 'limit' | 'otherClients' | 'windowMs'> {
  /** Requests that are left to other clients. */
  reserve: number;
}

/** A slot is taken a little longer than the window, for clocks that round. */
const slackMs = 20;
/** Moments are kept this fine, in parts of a window. */
const grains = 1_000;
/** While projects are read for the first time, this part of the share stays for those that have been read. */
const keptShare = 0.5;
/** Deadlines take at most this part of the share. */
const deadlineShare = 0.5;

/** Windows after which refresh assumes half of the use that other clients were last seen to make. */
const othersHalfLife = 24;

/** A pace at which nothing was sent yet: one request is due at once. */
export const newPace = (at: number): Pace => ({ at, credit: 1, sent: [], deadlines: [], first: [], others: null });

/** The pace as it was saved. One from more than an hour ahead is of a clock that was wrong, and begins anew. */
export const paceFrom = (saved: Pace | null, at: number): Pace =>
  saved === null || saved.at > at + hourMs ? newPace(at) : saved;

/**
 * The settings with what is known of other clients. The budget sees them when a request is refused, and forgets them after
 * three windows; at an even pace that leaves them room, nothing is refused. So their use is remembered longer here, and a
 * little less of it each window: else every few windows one request, theirs or ours, would be refused.
 */
function remembering({ others }: Pace, settings: PaceSettings, at: number): PaceSettings & Pick<Pace, 'others'> {
  const { limit, available, otherClients, windowMs } = settings;
  const faded = rememberedUse(others, windowMs, at);
  const known = otherClients !== null && otherClients >= faded ? { requests: otherClients, at } : others;
  return { ...settings, available: Math.max(0, Math.min(available, limit - faded)), others: known };
}

const rememberedUse = (others: Pace['others'], windowMs: number, at: number): number =>
  others === null ? 0 : others.requests * 0.5 ** (Math.max(0, at - others.at) / windowMs / othersHalfLife);

/** Requests a window that other clients use, as seen now or remembered; 0 while none are known. */
export function useOfOthers({ others }: Pick<Pace, 'others'>, window: KnownWindow, at: number): number {
  return Math.max(window.otherClients ?? 0, rememberedUse(others, window.windowMs, at));
}

/** Requests an hour: `share` (0 to 1) of the limit less the reserve and other clients' use. */
export function requestsAnHour(share: number, pace: Pick<Pace, 'others'>, window: KnownWindow, at: number): number {
  const left = window.limit - Math.max(window.reserve, useOfOthers(pace, window, at));
  return (share * Math.max(1, left) * hourMs) / window.windowMs;
}

/** Requests of the share in a window. */
const shareOf = ({ share, available, firstReadings }: PaceSettings): number =>
  share * available * (firstReadings ? keptShare : 1);

/** The pace at a later moment: credit grows evenly, but not beyond what two runs may send. Clocks that went back add nothing. */
function paceAt(pace: Pace, settings: ReturnType<typeof remembering>, at: number): Pace {
  const { windowMs, everyMs, others } = settings;
  const perMs = shareOf(settings) / windowMs;
  const most = Math.max(pace.credit, 1 + 2 * perMs * everyMs);
  const credit = Math.min(most, pace.credit + perMs * Math.max(0, at - pace.at));
  const past = at - windowMs - slackMs;
  const recent = (all: readonly Sent[]) => all.filter(([moment]) => moment > past && moment <= at + windowMs);
  return { at, credit, sent: recent(pace.sent), deadlines: recent(pace.deadlines), first: recent(pace.first), others };
}

/**
 * The earliest moment at or after `at` for the next request of the share; null when nothing is left to it. Runs send if
 * it is a few seconds away, else a schedule starts the next run then.
 */
export function nextRequestAt(pace: Pace, configured: PaceSettings, at: number): number | null {
  const settings = remembering(pace, configured, at);
  const perMs = shareOf(settings) / settings.windowMs;
  if (!(perMs > 0)) return null;
  const { credit, sent } = paceAt(pace, settings, at);
  // A billionth is lost where fractions are added.
  const due = credit >= 1 - 1e-9 ? at : at + (1 - credit) / perMs;
  return Math.ceil(Math.max(due, freeAt(sent, Math.ceil(shareOf(settings)), settings)));
}

/** The earliest moment at or after `at` for a request of a first reading, which may use all that is left; null for never. */
export function nextFirstAt(pace: Pace, configured: PaceSettings, at: number): number | null {
  const settings = remembering(pace, configured, at);
  const most = Math.floor(settings.available - shareOf(settings));
  if (most < 1) return null;
  return Math.ceil(Math.max(at, freeAt(paceAt(pace, settings, at).first, most, settings)));
}

/** Whether another request may be spent on a deadline at `at`. */
export function deadlinesLeft(pace: Pace, configured: PaceSettings, at: number): boolean {
  const settings = remembering(pace, configured, at);
  return countOf(paceAt(pace, settings, at).deadlines) + 1 <= Math.max(1, deadlineShare * shareOf(settings));
}

/** The pace after a request that went out at `at`. */
export function afterRequest(
  pace: Pace,
  configured: PaceSettings,
  at: number,
  kind: 'share' | 'deadline' | 'first',
): Pace {
  const settings = remembering(pace, configured, at);
  const now = paceAt(pace, settings, at);
  if (kind === 'first') return { ...now, first: added(now.first, at, settings) };
  return {
    ...now,
    credit: now.credit - 1,
    sent: added(now.sent, at, settings),
    deadlines: kind === 'deadline' ? added(now.deadlines, at, settings) : now.deadlines,
  };
}

/** When fewer than `most` of those sent are in the window; 0 when they are now. */
function freeAt(sent: readonly Sent[], most: number, { windowMs }: PaceSettings): number {
  let beyond = countOf(sent) - most + 1;
  if (beyond <= 0) return 0;
  for (const [moment, count] of sent) {
    beyond -= count;
    if (beyond <= 0) return moment + windowMs + slackMs;
  }
  return 0;
}

const countOf = (sent: readonly Sent[]): number => sent.reduce((sum, [, count]) => sum + count, 0);

/** Where there are many, those of one grain of the window count as sent when the last of them was. */
function added(sent: readonly Sent[], at: number, { windowMs }: PaceSettings): Sent[] {
  const grainOf = (moment: number) => Math.floor((moment * grains) / windowMs);
  const last = sent.at(-1);
  if (last === undefined || sent.length < grains || grainOf(last[0]) !== grainOf(at)) return [...sent, [at, 1]];
  return [...sent.slice(0, -1), [at, last[1] + 1]];
}

/**
 * The share, from 0 to 1 or more, that deadlines need so that they take at most half of it. With runs every `everyMs`, a
 * deadline is kept by a reading in time for the run before it passes; a run cannot keep one shorter than its interval.
 */
export function shareForDeadlines(
  deadlines: readonly { atMostMs: number }[],
  { available, windowMs, everyMs }: Pick<PaceSettings, 'available' | 'windowMs' | 'everyMs'>,
): number {
  const perWindow = deadlines.reduce((sum, { atMostMs }) => {
    const runs = Math.max(1, Math.floor(atMostMs / everyMs));
    return sum + windowMs / (runs * everyMs);
  }, 0);
  return available > 0 ? perWindow / available / deadlineShare : Number.POSITIVE_INFINITY;
}
