import { describe, expect, it } from 'vitest';
import {
  ahead,
  type Claim,
  countSameRank,
  inOrder,
  rankOf,
  slotsKeptFor,
  turnOf,
} from '../../../src/model/budget/waiter-order.ts';

const windowMs = 60_000;
const now = 1_000_000;
const rules = { now, promotionMs: windowMs, served: {} };

const claim = (holder: string, more: Partial<Claim> = {}): Claim => ({
  holder,
  project: `prj_${holder}`,
  class: 'sweep',
  wants: 20,
  since: now,
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
    const claims = [claim('a', { since: now - 9 }), claim('b', { since: now - 5 }), claim('c', { since: now - 1 })];
    const [a, b, c] = claims;
    if (!a || !b || !c) throw new Error('three claims');
    const served = { [turnOf(a)]: now - 100, [turnOf(b)]: now - 300, [turnOf(c)]: now - 200 };
    expect(names(inOrder(claims, { ...rules, served }))).toEqual(['b', 'c', 'a']);
  });

  it('counts a project never served from its arrival', () => {
    const known = claim('known', { since: now - 1 });
    const order = (since: number) =>
      names(inOrder([known, claim('new', { since })], { ...rules, served: { [turnOf(known)]: now - 100 } }));
    expect(order(now - 99)).toEqual(['known', 'new']);
    expect(order(now - 101)).toEqual(['new', 'known']);
  });

  it('is by arrival inside a project', () => {
    const claims = [claim('b', { project: 'p', since: now - 1 }), claim('a', { project: 'p', since: now - 2 })];
    expect(names(inOrder(claims, { ...rules, served: { 'p sweep': now } }))).toEqual(['a', 'b']);
    expect(names(claims)).toEqual(['b', 'a']);
  });

  it('counts the turns of each class of a project separately', () => {
    const aged = claim('sweep', { project: 'p', since: now - 3 * windowMs });
    const person = claim('person', { project: 'p', class: 'on-demand', since: now - 1 });
    const other = claim('other', { project: 'q', class: 'on-demand', since: now - 2 });
    expect(turnOf(aged)).not.toBe(turnOf(person));
    const served = { [turnOf(person)]: now - 1, [turnOf(other)]: now - 2 };
    expect(names(inOrder([person, other, aged], { ...rules, served }))).toEqual(['sweep', 'other', 'person']);
  });
});

describe('the claims ahead', () => {
  it('are all claims before it, without those of its own holder', () => {
    const waiters = [claim('a', { since: now - 2 }), claim('b', { since: now - 1 }), claim('c')];
    expect(names(ahead(claim('b', { since: now - 1 }), waiters, rules))).toEqual(['a']);
    expect(names(ahead(claim('new'), waiters, rules))).toEqual(['a', 'b', 'c']);
    expect(names(ahead(claim('new', { class: 'review' }), waiters, rules))).toEqual([]);
  });

  it('follow from what the holder wants now', () => {
    const waiters = [claim('a', { since: now - 2 }), claim('b', { since: now - 1 })];
    expect(names(ahead(claim('b', { since: now - 1, class: 'on-demand' }), waiters, rules))).toEqual([]);
    expect(names(ahead(claim('a', { since: now - 2 }), waiters, rules))).toEqual([]);
  });

  it('are decided between two of the same millisecond, never both for each other', () => {
    const waiters = [claim('a'), claim('b')];
    expect(names(ahead(claim('a'), waiters, rules))).toEqual([]);
    expect(names(ahead(claim('b'), waiters, rules))).toEqual(['a']);
  });
});

describe('slots kept for the claims ahead', () => {
  const mine = claim('me', { class: 'review' });
  it('are one for a claim of the same rank', () => {
    expect(slotsKeptFor(mine, [claim('a', { class: 'review' }), claim('b', { class: 'review' })], rules, 5)).toBe(2);
  });

  it('are what a more urgent claim wants, up to a lease', () => {
    const urgent = (wants: number) => [claim('p', { class: 'on-demand', wants })];
    expect(slotsKeptFor(mine, urgent(3), rules, 5)).toBe(3);
    expect(slotsKeptFor(mine, urgent(20), rules, 5)).toBe(5);
    expect(slotsKeptFor(mine, [], rules, 5)).toBe(0);
  });
});

describe('countSameRank', () => {
  it('counts the other waiters of the same rank', () => {
    const waiters = [claim('me'), claim('a'), claim('b', { class: 'review', since: now }), claim('c')];
    expect(countSameRank(claim('me'), waiters, rules)).toBe(2);
    expect(countSameRank(claim('me', { class: 'review' }), waiters, rules)).toBe(1);
  });
});
