/** The order of waiters (B3): by class, with promotion by age; inside a class the projects take turns. */

import { type PermitClass, permitClasses } from './permits.ts';

/** How long a late waiter keeps its place, in milliseconds: its worker may have died. */
export const comeBackGraceMs = 5_000;
/** Shortest time a refused asker has to wait: shorter server timers take a second anyway. */
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

/** What decides the place of an asker. */
export type Claim = Pick<Waiter, 'holder' | 'project' | 'class' | 'wants' | 'since'>;

/** What the order depends on besides the claims. */
export interface QueueRules {
  now: number;
  /** A waiter rises one class each time this passes. */
  promotionMs: number;
  /** When each turn (`turnOf`) was last granted a lease: the least recent goes first. */
  served: Readonly<Record<string, number>>;
}

/** 0 is the most urgent. Claims on spare requests never rise. */
export function rankOf(claim: Claim, { now, promotionMs }: QueueRules): number {
  if (claim.class === 'verify') return permitClasses.indexOf(claim.class);
  const promoted = Math.floor(Math.max(0, now - claim.since) / promotionMs);
  return Math.max(0, permitClasses.indexOf(claim.class) - promoted);
}

/** When a claim rises next; null when it is the most urgent already. */
export function promotedAt(claim: Claim, rules: QueueRules): number | null {
  if (rankOf(claim, rules) === 0) return null;
  return claim.since + (Math.floor((rules.now - claim.since) / rules.promotionMs) + 1) * rules.promotionMs;
}

/**
 * What takes turns: each class of a project separately, so that requests on demand do not keep putting back the
 * project's promoted sweep.
 */
export const turnOf = ({ project, class: kind }: Pick<Claim, 'project' | 'class'>): string => `${project} ${kind}`;

/** When a class other than `verify` was last granted a lease; minus infinity for never. */
export function othersServedAt(served: Readonly<Record<string, number>>): number {
  const others = Object.entries(served).filter(([turn]) => !turn.endsWith(' verify'));
  return Math.max(...others.map(([, moment]) => moment));
}

/** Claims in the order in which they are served; a turn never served counts from its claim. */
export function inOrder<T extends Claim>(claims: readonly T[], rules: QueueRules): T[] {
  const waitingSince = (claim: Claim) => rules.served[turnOf(claim)] ?? claim.since;
  return [...claims].sort(
    (a, b) => rankOf(a, rules) - rankOf(b, rules) || waitingSince(a) - waitingSince(b) || a.since - b.since,
  );
}

/**
 * Claims of other holders that are served before this one. A waiter keeps its place, or two that came in the same
 * millisecond would each let the other go first.
 */
export function ahead<T extends Claim>(claim: T, waiters: readonly T[], rules: QueueRules): T[] {
  const place = waiters.findIndex(({ holder }) => holder === claim.holder);
  const ordered = inOrder(place < 0 ? [...waiters, claim] : waiters.with(place, claim), rules);
  return ordered.slice(0, ordered.indexOf(claim));
}

/**
 * Slots kept free for the claims ahead: one for each of the same rank, so that leases interleave, and up to `lease` for
 * each more urgent one.
 */
export function slotsKeptFor(claim: Claim, before: readonly Claim[], rules: QueueRules, lease: number): number {
  const own = rankOf(claim, rules);
  return before.reduce((sum, other) => sum + (rankOf(other, rules) < own ? Math.min(other.wants, lease) : 1), 0);
}

/** How many other waiters of the same rank share the free slots with this claim. */
export function countSameRank(claim: Claim, waiters: readonly Claim[], rules: QueueRules): number {
  const own = rankOf(claim, rules);
  return waiters.filter((waiter) => waiter.holder !== claim.holder && rankOf(waiter, rules) === own).length;
}
