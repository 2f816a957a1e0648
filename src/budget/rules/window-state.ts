import { z } from 'zod/mini';
import { reader, text } from '../../rules/messages.ts';
import {
  type BlockReason,
  type BudgetOverride,
  moment,
  type PermitAsk,
  type PermitClass,
  permitClasses,
  type WindowSettings,
  windowSettings,
} from './permits.ts';

/**
 * Arithmetic for work done once per waiter or slot. In a workflow's sandbox each look-up of a global, `Math` too, costs
 * about 0.2 µs: with a thousand waiters that was most of a message's cost.
 */
export const { floor, max, min } = Math;

/* The order of waiters (B3): by class until `refresh` has waited for a window; among equals the projects take turns. */

/** How long slots are kept free for a late waiter, in milliseconds: its worker may have died. */
export const comeBackGraceMs = 5_000;
/** How long a late waiter keeps its place, in milliseconds; no other waits for it meanwhile. */
export const placeKeptMs = 10 * 60_000;
/** Shortest time a refused asker must wait: shorter server timers take a second anyway. */
export const minWaitMs = 1_000;

export interface Waiter {
  holder: string;
  project: string;
  class: PermitClass;
  wants: number;
  remaining: number | null;
  since: number;
  /** When its turn (`turnOf`) was last granted a lease; null for never. */
  servedAt: number | null;
  /** When it should come back, or was woken. */
  expectedAt: number;
}

/** What decides the place of an asker. */
export type Claim = Pick<Waiter, 'holder' | 'project' | 'class' | 'since' | 'servedAt'>;

interface QueueRules {
  now: number;
  /** When `refresh` becomes as urgent as the rest; null while it does not wait. */
  refreshRisesAt: number | null;
}

/** 0 is the more urgent. */
export function rankOf({ class: kind }: Pick<Claim, 'class'>, { now, refreshRisesAt }: QueueRules): 0 | 1 {
  return kind === 'on-demand' || (refreshRisesAt !== null && refreshRisesAt <= now) ? 0 : 1;
}

/** What takes turns: each class of a project. */
export const turnOf = ({ project, class: kind }: Pick<Claim, 'project' | 'class'>): string => `${project} ${kind}`;

/** Whether slots are kept free for a waiter: it is not late. */
export const isAwaited = (waiter: Waiter, now: number): boolean => waiter.expectedAt + comeBackGraceMs > now;

/** Since when a claim's turn is due: one never served counts from its claim. */
const dueSince = ({ servedAt, since }: Claim): number => servedAt ?? since;

/** Negative when `a` is served before `b`; 0 when neither has a better claim. */
function compare(a: Claim, rankOfA: number, b: Claim, rankOfB: number): number {
  return rankOfA - rankOfB || dueSince(a) - dueSince(b) || a.since - b.since;
}

/** Claims in the order in which they are served; equal claims keep theirs. */
export function inOrder<T extends Claim>(claims: readonly T[], rules: QueueRules): T[] {
  const ranked = claims.map((claim) => ({ claim, rank: rankOf(claim, rules) }));
  return ranked.sort((a, b) => compare(a.claim, a.rank, b.claim, b.rank)).map(({ claim }) => claim);
}

/** Where a claim stands among the awaited waiters. */
export interface QueuePlace {
  /** How many are served before it: a slot is kept free for each. */
  ahead: number;
  /** Holders of the first of these, in their order. */
  behind: string[];
  /** Whether others wait that are as urgent or more, ahead or not. */
  contended: boolean;
}

/** Most names that are given of those ahead. */
const mostNamed = 5;

/** A waiter that asks again keeps its place: two of the same millisecond would let each other go first. */
export function placeOf(claim: Claim, waiters: readonly Waiter[], rules: QueueRules): QueuePlace {
  const own = rankOf(claim, rules);
  const place: QueuePlace = { ahead: 0, behind: [], contended: false };
  const first: { waiter: Waiter; rank: number }[] = [];
  let isPassed = false;
  for (const waiter of waiters) {
    if (waiter.holder === claim.holder) {
      isPassed = true;
      continue;
    }
    if (!isAwaited(waiter, rules.now)) continue;
    const rank = rankOf(waiter, rules);
    if (rank <= own) place.contended = true;
    const order = compare(waiter, rank, claim, own);
    if (order > 0 || (order === 0 && isPassed)) continue;
    place.ahead += 1;
    const at = first.findIndex((other) => compare(waiter, rank, other.waiter, other.rank) < 0);
    if (at >= 0 || first.length < mostNamed) first.splice(at < 0 ? first.length : at, 0, { waiter, rank });
    first.length = min(first.length, mostNamed);
  }
  place.behind = first.map(({ waiter }) => waiter.holder);
  return place;
}

/* State of the budget workflow: plain JSON, moments in milliseconds of its own clock. */

export interface LeaseState {
  /** Id of the question it answers: the same question gets the same lease. */
  id: string;
  holder: string;
  project: string;
  class: PermitClass;
  /** Pages the holder expected to read, this lease's included. */
  remaining: number | null;
  /** When the holder first asked. */
  since: number;
  grantedAt: number;
  /** No request may be sent at or after this moment. */
  useBy: number;
  /** Requests of this lease arrive before this moment, even if `arrivalMs` changes meanwhile. */
  arrivesBy: number;
  /** Earliest moment of use of each permit, ascending. */
  notBefore: number[];
}

/** The latest attempt seen of a holder, by when the server scheduled it. */
export interface Attempt {
  holder: string;
  at: number;
}

/** When a turn (`turnOf`) was last granted a lease. */
export interface Turn {
  turn: string;
  at: number;
}

/** What the budget remembers of a program while it holds slots or waits. */
export interface ProgramUse {
  /** Per cent of the limit that it may hold, by its last question; null for no limit of its own. */
  share: number | null;
  /** Its part of the window's `spent`. */
  spent: number[];
}

/** A key the service refuses (401): one request tries it again from time to time. */
export interface RefusedKey {
  since: number;
  triedAt: number;
  nextTryAt: number;
}

/** docferry's own checks of the key: a program's path may be answered 401 although the key is accepted. */
interface KeyChecks {
  /** When the last one was started; null for never. */
  startedAt: number | null;
  due: boolean;
}

/** What a refusal showed of other clients. */
export interface Sighting {
  at: number;
  /** Requests of other clients in the window that ended then. */
  requests: number;
}

export interface WindowState {
  settings: WindowSettings;
  override: BudgetOverride | null;
  /** Latest moment seen: time runs backwards only once a clock is right that was ahead (`wasAhead`). */
  now: number;
  /** When reported requests had arrived at the latest, ascending; each occupies its slot for one window. */
  spent: number[];
  /** Arrivals up to here are in no slot (those of a longer window or an earlier ledger): wait until they have expired. */
  unknownUntil: number | null;
  leases: LeaseState[];
  /** In the order in which they were served when it was last looked at, then those that came since. */
  waiters: Waiter[];
  attempts: Attempt[];
  /** Ids of questions whose return overtook them, the latest ones. */
  returned: string[];
  served: Turn[];
  /** Since when `refresh` has waited behind others; null when nothing keeps it waiting. */
  refreshWaits: number | null;
  /** After a 429, no request is sent before this moment. */
  throttledUntil: number | null;
  /** With the number of refused tries. */
  refusedKey: (RefusedKey & { tries: number }) | null;
  keyChecks: KeyChecks;
  /** Paused by hand, until that moment or until resumed. */
  paused: { since: number; until: number | null } | null;
  /** After a refusal by the service one request goes first: `due`, or the id of the probing lease. */
  probe: string | null;
  /** Programs that hold slots or wait, by holder. */
  programs: Record<string, ProgramUse>;
  /** Moments at which the service answered 429. */
  throttles: number[];
  /** What refusals showed of other clients. */
  sightings: Sighting[];
  /** When the installation of `settings` last sent a message; null before that. */
  ownSeenAt: number | null;
  ignored: number;
}

/** A lease that is over and was not reported: all that counts of it are its slots. Moments count back from `useBy`. */
export type LapsedLease = [id: string, useBy: number, arrivesWithin: number, ...before: number[]];

/** A waiter, with the latest attempt of its holder. */
export type WaiterRow = [
  holder: string,
  attemptAt: number | null,
  project: string,
  kind: PermitClass,
  wants: number,
  remaining: number | null,
  since: number,
  servedAt: number | null,
  expectedAt: number,
];

/** The window as a run hands it to the next (carry-window.ts). */
export interface CarriedWindow extends Omit<WindowState, 'waiters'> {
  /** Of holders that do not wait. */
  attempts: Attempt[];
  /** Of turns without a waiter. */
  served: Turn[];
  lapsed: LapsedLease[];
  rows: WaiterRow[];
}

const budgetInput = z.object({
  org: text(),
  settings: windowSettings(),
  /** When an earlier ledger may last have granted permits (B7); absent when there are no signs of one. */
  earlierGrantAt: z.exactOptional(moment()),
  /** Set by continue-as-new and `budget move`. */
  carried: z.exactOptional(z.custom<CarriedWindow>(isCarried, 'the state of an earlier run')),
});
/** Input of the budget's workflow. */
export type BudgetInput = z.infer<typeof budgetInput>;
export const readBudgetInput = reader<BudgetInput>(budgetInput);

/** What the window computes with: one that a person spoilt would fail every task. Older versions knew less. */
function isCarried(value: unknown): boolean {
  return z.safeParse(carriedShape(), value).success;
}

function carriedShape() {
  const [at, name] = [z.number(), z.string()];
  const [moments, perhaps] = [z.array(at), z.nullable(at)];
  const old = z.optional;
  return z.object({
    now: at,
    settings: z.object({ requests: at, reserve: at, windowMs: at, arrivalMs: at }),
    spent: moments,
    leases: z.array(z.object({ id: name, holder: name, useBy: at, arrivesBy: at, notBefore: moments })),
    lapsed: z.array(z.tuple([name, at, at], at)),
    rows: z.array(z.tuple([name, perhaps, name, z.enum(permitClasses), at, perhaps, at, perhaps, at])),
    attempts: z.array(z.object({ holder: name, at })),
    served: z.array(z.object({ turn: name, at })),
    override: old(z.nullable(z.object({ until: perhaps }))),
    refusedKey: old(z.nullable(z.object({ since: at, triedAt: at, nextTryAt: at, tries: at }))),
    keyChecks: old(z.object({ startedAt: perhaps, due: z.boolean() })),
    paused: old(z.nullable(z.object({ since: at, until: perhaps }))),
    programs: old(z.record(name, z.object({ share: perhaps, spent: moments }))),
    returned: old(z.array(name)),
    throttles: old(moments),
    sightings: old(z.array(z.object({ at, requests: at }))),
  });
}

export const probeDue = 'due';

/**
 * The most waiters that get a place: as many as a run can carry to the next. The budget tells others when to ask again.
 */
export const mostWaiters = 2_000;

/** Leases in use. */
export const active = (state: WindowState): LeaseState[] => state.leases.filter((lease) => lease.useBy > state.now);

/** What the order of waiters depends on: after a window of waiting, `refresh` takes turns with the rest. */
export function rulesOf({ now, refreshWaits, settings }: WindowState): QueueRules {
  return { now, refreshRisesAt: refreshWaits === null ? null : refreshWaits + settings.windowMs };
}

/** A file from a fast clock must not shut out files written next. */
export function writtenBefore(settings: WindowSettings, now: number): WindowSettings {
  const { configuredAt } = settings;
  return configuredAt === undefined ? settings : { ...settings, configuredAt: Math.min(configuredAt, now) };
}

export function emptyWindow(settings: WindowSettings, now: number): WindowState {
  return {
    settings: writtenBefore(settings, now),
    override: null,
    now,
    spent: [],
    unknownUntil: null,
    leases: [],
    waiters: [],
    attempts: [],
    returned: [],
    served: [],
    refreshWaits: null,
    throttledUntil: null,
    refusedKey: null,
    keyChecks: { startedAt: null, due: false },
    paused: null,
    probe: null,
    programs: {},
    throttles: [],
    sightings: [],
    ownSeenAt: null,
    ignored: 0,
  };
}

/** Clocks round and drift: a slot stays occupied this much longer, a ten-thousandth of the window but at least 20 ms. */
export const slackOf = (windowMs: number): number => Math.max(20, Math.ceil(windowMs / 10_000));

/** How long a slot stays occupied after the request's arrival. */
export const occupancyMs = (state: WindowState): number => state.settings.windowMs + slackOf(state.settings.windowMs);

/*
 * What a refusal of the service means: how long all wait after a 429, when a refused key (401) is tried again, and how
 * much of the window other clients use. A 429 means that the window is full: the part that is not ours is theirs (B4).
 */

const longestOverWindowMs = 60_000;
/** A request on demand tries the key at once, but not more often than this. */
const keyTryByPersonMs = 5_000;

/** Until when no request may go, and why. No program tries a refused key: its path may be answered 401 anyway. */
export function blockedBy(
  state: WindowState,
  question: Pick<PermitAsk, 'class' | 'program'> | null,
): { until: number; reason: BlockReason } | null {
  const { paused, throttledUntil, refusedKey, now } = state;
  if (paused) return { until: paused.until ?? now + state.settings.windowMs, reason: 'paused' };
  if (throttledUntil !== null) return { until: throttledUntil, reason: 'throttled' };
  const probing = state.leases.find((lease) => lease.id === state.probe);
  if (probing) return { until: probing.useBy, reason: 'probing' };
  if (refusedKey && question?.program !== undefined) {
    return { until: Math.max(refusedKey.nextTryAt, now + keyTryByPersonMs), reason: 'unauthorized' };
  }
  if (refusedKey && refusedKey.nextTryAt > now && !(question && triedByPerson(question, refusedKey, now))) {
    return { until: refusedKey.nextTryAt, reason: 'unauthorized' };
  }
  const unknown = countsAsFullUntil(state);
  return unknown === null ? null : { until: unknown, reason: 'window-full' };
}

/** Until when the window counts as full because nobody knows what was granted before (B7); null when all is known. */
export function countsAsFullUntil(state: WindowState): number | null {
  const until = state.unknownUntil === null ? 0 : state.unknownUntil + occupancyMs(state);
  return until > state.now ? until : null;
}

const triedByPerson = (question: Pick<PermitAsk, 'class'>, key: RefusedKey, now: number): boolean =>
  question.class === 'on-demand' && now - key.triedAt >= keyTryByPersonMs;

/**
 * A 429 means the window is full: wait as long as the service asked, up to a little more than a window, or for our
 * oldest slot, whichever is later, then probe. With neither, wait a twentieth of the window.
 */
export function throttle(state: WindowState, oldest: number | undefined, retryAfterMs: number | null): void {
  const { windowMs } = state.settings;
  const unsaid = oldest === undefined ? windowMs / 20 : 0;
  const told = Math.min(windowMs + longestOverWindowMs, Math.max(minWaitMs, retryAfterMs ?? unsaid));
  state.throttledUntil = Math.max(state.throttledUntil ?? 0, state.now + told, oldest ?? 0);
  state.probe = probeDue;
  state.throttles = [...state.throttles, state.now];
}

/** All askers wait; one request tries the key again, after a minute at first, then at growing intervals. */
export function refuseKey(state: WindowState, byProbe: boolean): void {
  const known = state.refusedKey;
  const tries = known === null ? 1 : known.tries + (byProbe ? 1 : 0);
  const nextTryAt = state.now + keyTryDelay(tries);
  state.refusedKey = { since: known?.since ?? state.now, triedAt: state.now, nextTryAt, tries };
  state.probe = probeDue;
}

const firstMs = 60_000;
const longestMs = 15 * 60_000;

/** Milliseconds until a key refused `refusals` times (at least 1) is tried again: a minute, doubled each time. */
export function keyTryDelay(refusals: number): number {
  return Math.min(longestMs, firstMs * 2 ** (refusals - 1));
}

/** After a check, 401s of programs start no other for this long. */
const believedMs = 15 * 60_000;
/** A check that gets a permit is over within this time. */
const checkTakesMs = 60_000;

/** A program was answered 401, or asks although the key is refused. */
export function wantCheck({ startedAt, due }: KeyChecks, refused: RefusedKey | null, now: number): KeyChecks {
  if (refused !== null && refused.nextTryAt > now) return { startedAt, due };
  const pauseMs = refused === null ? believedMs : checkTakesMs;
  return { startedAt, due: due || startedAt === null || startedAt + pauseMs <= now };
}

/** Windows for which a sighting counts. */
const windowsKept = 3;
/** Requests of other clients that a refusal does not show: those refused or sent at the same time as ours. */
const unseen = 2;
/** Share of the limit that always stays ours: a refusal may mean something other than a full window. */
const ownShare = 0.1;

/** Adds what a refusal at `at` shows; `own` are our arrivals known by then. */
export function addRefusal(
  sightings: readonly Sighting[],
  refusal: { at: number; limit: number; own: readonly number[]; windowMs: number },
): Sighting[] {
  const { at, limit, own, windowMs } = refusal;
  const ours = own.filter((moment) => moment > at - windowMs && moment <= at).length;
  return [...sightings, { at, requests: limit - ours + unseen }];
}

/** Takes arrivals of ours that were reported later off the other clients' account. */
export function correctSightings(
  sightings: readonly Sighting[],
  arrivals: readonly number[],
  windowMs: number,
): Sighting[] {
  return sightings.map(({ at, requests }) => ({
    at,
    requests: requests - arrivals.filter((moment) => moment > at - windowMs && moment <= at).length,
  }));
}

/** Sightings that still count. */
export function recentSightings(sightings: readonly Sighting[], now: number, windowMs: number): Sighting[] {
  return sightings.filter(({ at }) => at + windowsKept * windowMs > now);
}

/** When the next sighting stops counting, so that more may be granted; null when there is none. */
export function nextSightingExpiry(sightings: readonly Sighting[], windowMs: number): number | null {
  return sightings.length === 0 ? null : Math.min(...sightings.map(({ at }) => at)) + windowsKept * windowMs;
}

/** Requests per window that other clients seem to make; null when nothing is known. */
export function requestsOfOthers(sightings: readonly Sighting[], limit: number): number | null {
  if (sightings.length === 0) return null;
  const most = Math.max(0, ...sightings.map(({ requests }) => requests));
  return Math.min(most, limit - Math.max(1, Math.ceil(limit * ownShare)));
}
