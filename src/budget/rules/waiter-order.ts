/** The order of waiters (B3): by class, with promotion by age; inside a class the projects take turns. */

import { type PermitClass, permitClasses } from './permits.ts';
import { floor, max, min } from './quick-math.ts';

/** How long slots are kept free for a late waiter, in milliseconds: its worker may have died. */
export const comeBackGraceMs = 5_000;
/**
 * How long a late waiter keeps its place, in milliseconds. No other waiter waits for it meanwhile; but when it comes,
 * after a restart of its worker or on a busy machine, it is as senior as before.
 */
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
  /** When it was told to come back, or was woken. */
  expectedAt: number;
  /** As in `PermitAsk`. */
  leave?: number;
}

/** What decides the place of an asker. */
export type Claim = Pick<Waiter, 'holder' | 'project' | 'class' | 'wants' | 'since' | 'servedAt'>;

/** What the order depends on besides the claims. */
export interface QueueRules {
  now: number;
  /** A waiter rises one class each time this passes. */
  promotionMs: number;
}

const classRanks = Object.fromEntries(permitClasses.map((name, rank) => [name, rank])) as Record<PermitClass, number>;

/** 0 is the most urgent. Claims on spare requests never rise. */
export function rankOf(claim: Pick<Claim, 'class' | 'since'>, { now, promotionMs }: QueueRules): number {
  const rank = classRanks[claim.class];
  if (claim.class === 'verify' || now - claim.since < promotionMs) return rank;
  return max(0, rank - floor((now - claim.since) / promotionMs));
}

/** When a claim rises next; null when it is the most urgent already. */
export function promotedAt(claim: Claim, rules: QueueRules): number | null {
  if (claim.class === 'verify' || rankOf(claim, rules) === 0) return null;
  return claim.since + (floor((rules.now - claim.since) / rules.promotionMs) + 1) * rules.promotionMs;
}

/**
 * What takes turns: each class of a project separately, so that requests on demand do not keep putting back the
 * project's promoted sweep.
 */
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
export interface Place {
  /** How many are served before it. */
  ahead: number;
  /** Holders of the first of these, in their order. */
  behind: string[];
  /** Of these, claims on spare requests. */
  spareAhead: number;
  /** Slots kept free for those ahead: `KeptSlots`. */
  kept: number;
  /** Waiters of other holders that have the same rank, whether ahead or not. */
  equals: number;
}

/** Most names that are given of those ahead. */
const mostNamed = 5;

/**
 * The place of a claim. A waiter that asks again keeps its place, or two that came in the same millisecond would each let
 * the other go first. `lease` is the most pages of a lease when others wait.
 */
export function placeOf(claim: Claim, waiters: readonly Waiter[], rules: QueueRules, lease: number): Place {
  const own = rankOf(claim, rules);
  const place: Place = { ahead: 0, behind: [], spareAhead: 0, kept: 0, equals: 0 };
  const first: { waiter: Waiter; rank: number }[] = [];
  let isPassed = false;
  for (const waiter of waiters) {
    if (waiter.holder === claim.holder) {
      isPassed = true;
      continue;
    }
    if (!isAwaited(waiter, rules.now)) continue;
    const rank = rankOf(waiter, rules);
    if (rank === own) place.equals += 1;
    const order = compare(waiter, rank, claim, own);
    if (order > 0 || (order === 0 && isPassed)) continue;
    place.ahead += 1;
    if (waiter.class === 'verify') place.spareAhead += 1;
    place.kept += slotsKeptFor(waiter, rank < own, lease);
    const at = first.findIndex((other) => compare(waiter, rank, other.waiter, other.rank) < 0);
    if (at >= 0 || first.length < mostNamed) first.splice(at < 0 ? first.length : at, 0, { waiter, rank });
    first.length = min(first.length, mostNamed);
  }
  place.behind = first.map(({ waiter }) => waiter.holder);
  return place;
}

/** Slots kept free for one waiter ahead: one for an equal, so that leases interleave; up to a lease for a more urgent one. */
export function slotsKeptFor({ wants }: Pick<Claim, 'wants'>, isMoreUrgent: boolean, lease: number): number {
  return isMoreUrgent ? min(wants, lease) : 1;
}
