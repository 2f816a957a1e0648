import { describe, expect, it } from 'vitest';
import {
  type Claim,
  inOrder,
  placeKeptMs,
  placeOf,
  promotedAt,
  rankOf,
  turnOf,
  type Waiter,
} from '../../../src/budget/rules/window-state.ts';

const windowMs = 60_000;
const now = 1_000_000;
const rules = { now, promotionMs: windowMs };

const claim = (holder: string, more: Partial<Claim> = {}): Claim => ({
  holder,
  project: `prj_${holder}`,
  class: 'sweep',
  wants: 20,
  since: now,
  servedAt: null,
  ...more,
});
const names = (claims: readonly Claim[]) => claims.map(({ holder }) => holder);

describe('the rank of a claim', () => {
  it('is that of its class', () => {
    const ranks = (['on-demand', 'incremental', 'review', 'sweep'] as const).map((kind) =>
      rankOf(claim('a', { class: kind }), rules),
    );
    expect(ranks).toEqual([0, 1, 2, 3]);
  });

  it('rises by one for each window waited, up to the first', () => {
    const after = (waited: number) => rankOf(claim('a', { since: now - waited }), rules);
    expect([0, windowMs - 1, windowMs, 2 * windowMs, 3 * windowMs, 9 * windowMs].map(after)).toEqual([
      3, 3, 2, 1, 0, 0,
    ]);
  });

  it('does not fall when the claim is from a moment ahead', () => {
    expect(rankOf(claim('a', { since: now + 5 * windowMs }), rules)).toBe(3);
  });
});

describe('the order', () => {
  it('is by class, not by arrival', () => {
    const order = inOrder(
      [
        claim('s', { since: now - 40 }),
        claim('r', { class: 'review', since: now - 30 }),
        claim('i', { class: 'incremental', since: now - 20 }),
        claim('o', { class: 'on-demand' }),
      ],
      rules,
    );
    expect(names(order)).toEqual(['o', 'i', 'r', 's']);
  });

  it('lets the projects of a class take turns: the least recently served goes first', () => {
    const claims = [
      claim('a', { since: now - 9, servedAt: now - 100 }),
      claim('b', { since: now - 5, servedAt: now - 300 }),
      claim('c', { since: now - 1, servedAt: now - 200 }),
    ];
    expect(names(inOrder(claims, rules))).toEqual(['b', 'c', 'a']);
  });

  it('counts a project never served from its arrival', () => {
    const known = claim('known', { since: now - 1, servedAt: now - 100 });
    const order = (since: number) => names(inOrder([known, claim('new', { since })], rules));
    expect(order(now - 99)).toEqual(['known', 'new']);
    expect(order(now - 101)).toEqual(['new', 'known']);
  });

  it('is by arrival inside a project', () => {
    const served = { project: 'p', servedAt: now };
    const claims = [claim('b', { ...served, since: now - 1 }), claim('a', { ...served, since: now - 2 })];
    expect(names(inOrder(claims, rules))).toEqual(['a', 'b']);
    expect(names(claims)).toEqual(['b', 'a']);
  });

  it("tells the turns of a project's classes apart", () => {
    expect(turnOf(claim('sweep', { project: 'p' }))).not.toBe(turnOf(claim('a', { project: 'p', class: 'on-demand' })));
  });

  it('puts an aged claim before urgent ones that were served since', () => {
    const aged = claim('sweep', { project: 'p', since: now - 3 * windowMs });
    const person = claim('person', { class: 'on-demand', since: now - 1, servedAt: now - 1 });
    const other = claim('other', { class: 'on-demand', since: now - 2, servedAt: now - 2 });
    expect(names(inOrder([person, other, aged], rules))).toEqual(['sweep', 'other', 'person']);
    expect([promotedAt(aged, rules), promotedAt(claim('new'), rules)]).toEqual([null, now + windowMs]);
  });
});

describe('the place of a claim', () => {
  const waiter = (holder: string, more: Partial<Waiter> = {}): Waiter => ({
    remaining: null,
    expectedAt: now,
    ...claim(holder, more),
    ...more,
  });
  const place = (mine: Claim, waiters: Waiter[], lease = 5) => placeOf(mine, waiters, rules, lease);

  it('is behind all claims before it, without those of its own holder', () => {
    const waiters = [waiter('a', { since: now - 2 }), waiter('b', { since: now - 1 }), waiter('c')];
    expect(place(claim('b', { since: now - 1 }), waiters)).toMatchObject({ ahead: 1, behind: ['a'], equals: 2 });
    expect(place(claim('new'), waiters)).toMatchObject({ ahead: 3, behind: ['a', 'b', 'c'] });
    expect(place(claim('new', { class: 'review' }), waiters)).toMatchObject({ ahead: 0, behind: [], equals: 0 });
  });

  it('names the first five in their order, wherever they stand in the list', () => {
    const waiters = [7, 3, 5, 1, 6, 2, 4].map((place) => waiter(`w${place}`, { since: now - 10 + place }));
    expect(place(claim('new'), waiters)).toMatchObject({ ahead: 7, behind: ['w1', 'w2', 'w3', 'w4', 'w5'] });
  });

  it('follows from what the holder wants now', () => {
    const waiters = [waiter('a', { since: now - 2 }), waiter('b', { since: now - 1 })];
    expect(place(claim('b', { since: now - 1, class: 'on-demand' }), waiters).behind).toEqual([]);
    expect(place(claim('a', { since: now - 2 }), waiters).behind).toEqual([]);
  });

  it('is decided between two of the same millisecond, never both for each other', () => {
    const waiters = [waiter('a'), waiter('b')];
    expect(place(claim('a'), waiters).behind).toEqual([]);
    expect(place(claim('b'), waiters).behind).toEqual(['a']);
  });

  it('is not behind waiters that are late', () => {
    const late = [waiter('a', { since: now - 9, expectedAt: now - 5_000 }), waiter('b', { expectedAt: now - 4_999 })];
    expect(place(claim('new'), late)).toEqual({ ahead: 1, behind: ['b'], spareAhead: 0, kept: 1, equals: 1 });
    expect(placeKeptMs).toBeGreaterThan(60_000);
  });

  it('has one slot kept for each equal, and up to a lease for each more urgent one', () => {
    const mine = claim('me', { class: 'review' });
    const equals = [waiter('a', { class: 'review' }), waiter('b', { class: 'review' })];
    expect(place(mine, equals).kept).toBe(2);
    const urgent = (wants: number) => place(mine, [waiter('p', { class: 'on-demand', wants })]).kept;
    expect([urgent(3), urgent(20)]).toEqual([3, 5]);
    expect(place(mine, []).kept).toBe(0);
  });

  it('counts the other waiters of the same rank', () => {
    const waiters = [waiter('me'), waiter('a'), waiter('b', { class: 'review' }), waiter('c')];
    expect(place(claim('me'), waiters).equals).toBe(2);
    expect(place(claim('me', { class: 'review' }), waiters).equals).toBe(1);
  });

  it('counts claims on spare requests ahead of one', () => {
    const waiters = [waiter('a'), waiter('v', { class: 'verify', since: now - 1 })];
    expect(place(claim('w', { class: 'verify' }), waiters)).toMatchObject({ ahead: 2, spareAhead: 1 });
  });
});
