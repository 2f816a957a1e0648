/** Who goes before whom (B3): by class, older ones promoted; inside a class the projects take turns. */

import { type PermitClass, permitClasses } from './permits.ts';

/** How long after its time a waiter keeps its place, in milliseconds: a worker may have died. */
export const comeBackGraceMs = 5_000;
/** Shortest time a refused asker is told to stay away: below a second server timers take a second anyway. */
export const minWaitMs = 1_000;

export interface Waiter {
  holder: string;
  project: string;
  class: PermitClass;
  wants: number;
  remaining: number | null;
  since: number;
  /** When it was told to come back; it keeps its place for `comeBackGraceMs` longer. */
  expectedAt: number;
  /** As in `PermitAsk`. */
  leave?: number;
}

/** Whoever wants permits: enough of a waiter to find its place. */
export type Claim = Pick<Waiter, 'holder' | 'project' | 'class' | 'wants' | 'since'>;

/** What the order depends on besides the claims. */
export interface QueueRules {
  now: number;
  /** A waiter rises one class for each of these. */
  promotionMs: number;
  /** When each turn (`turnOf`) was last granted a lease: the longest ago goes first. */
  served: Readonly<Record<string, number>>;
}

/** 0 is the most urgent. What only wants what is left over never rises. */
export function rankOf(claim: Claim, { now, promotionMs }: QueueRules): number {
  if (claim.class === 'verify') return permitClasses.indexOf(claim.class);
  const promoted = Math.floor(Math.max(0, now - claim.since) / promotionMs);
  return Math.max(0, permitClasses.indexOf(claim.class) - promoted);
}

/** When a claim that may rise does so next, or null when it is the most urgent already. */
export function risesAt(claim: Claim, rules: QueueRules): number | null {
  if (rankOf(claim, rules) === 0) return null;
  return claim.since + (Math.floor((rules.now - claim.since) / rules.promotionMs) + 1) * rules.promotionMs;
}

/**
 * Whose turn is counted. A project's classes have turns of their own: what it asks on demand must not put its promoted
 * sweep back, again and again.
 */
export const turnOf = ({ project, class: kind }: Pick<Claim, 'project' | 'class'>): string => `${project} ${kind}`;

/** When anybody but those of class `verify` was last granted a lease; minus infinity when nobody was. */
export function othersServedAt(served: Readonly<Record<string, number>>): number {
  const others = Object.entries(served).filter(([turn]) => !turn.endsWith(' verify'));
  return Math.max(...others.map(([, moment]) => moment));
}

/** Claims in the order in which they are served; a turn that is not known waits since its claim came. */
export function inOrder<T extends Claim>(claims: readonly T[], rules: QueueRules): T[] {
  const waitingSince = (claim: Claim) => rules.served[turnOf(claim)] ?? claim.since;
  return [...claims].sort(
    (a, b) => rankOf(a, rules) - rankOf(b, rules) || waitingSince(a) - waitingSince(b) || a.since - b.since,
  );
}

/**
 * Claims that are served before this one; the holder's own are not among them. Who has a place keeps it, or two that
 * came in the same millisecond would each let the other go first.
 */
export function ahead<T extends Claim>(claim: T, waiters: readonly T[], rules: QueueRules): T[] {
  const place = waiters.findIndex(({ holder }) => holder === claim.holder);
  const ordered = inOrder(place < 0 ? [...waiters, claim] : waiters.with(place, claim), rules);
  return ordered.slice(0, ordered.indexOf(claim));
}

/**
 * Slots kept free for those ahead: a page for one of the same rank, so that leases interleave, and up to `lease` for a
 * more urgent one, which is not to be served in drips.
 */
export function slotsKeptFor(claim: Claim, before: readonly Claim[], rules: QueueRules, lease: number): number {
  const own = rankOf(claim, rules);
  return before.reduce((sum, other) => sum + (rankOf(other, rules) < own ? Math.min(other.wants, lease) : 1), 0);
}

/** How many others share what is free with this claim: those of its own rank. */
export function equals(claim: Claim, waiters: readonly Claim[], rules: QueueRules): number {
  const own = rankOf(claim, rules);
  return waiters.filter((waiter) => waiter.holder !== claim.holder && rankOf(waiter, rules) === own).length;
}
