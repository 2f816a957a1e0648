import { describe, expect, it } from 'vitest';
import {
  type Claim,
  inOrder,
  placeKeptMs,
  placeOf,
  rankOf,
  turnOf,
  type Waiter,
} from '../../../src/budget/rules/window-state.ts';

const windowMs = 60_000;
const now = 1_000_000;
const rules = { now, refreshRisesAt: null };

const claim = (holder: string, more: Partial<Claim> = {}): Claim => ({
  holder,
  project: `prj_${holder}`,
  class: 'refresh',
  since: now,
  servedAt: null,
  ...more,
});
const names = (claims: readonly Claim[]) => claims.map(({ holder }) => holder);

describe('the rank of a claim', () => {
  const risen = (refreshRisesAt: number | null) =>
    (['on-demand', 'refresh'] as const).map((kind) => rankOf(claim('a', { class: kind }), { now, refreshRisesAt }));

  it('is that of its class until refresh has waited for a window', () => {
    expect([null, now + 1, now].map(risen)).toEqual([
      [0, 1],
      [0, 1],
      [0, 0],
    ]);
  });
});

describe('the order', () => {
  it('is by class, not by arrival', () => {
    const order = inOrder([claim('r', { since: now - 30 }), claim('o', { class: 'on-demand' })], rules);
    expect(names(order)).toEqual(['o', 'r']);
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

  it('lets refresh take turns with the rest once it has waited', () => {
    const refresh = claim('refresh', { servedAt: now - 2 });
    const person = claim('person', { class: 'on-demand', since: now - 1, servedAt: now - 1 });
    const other = claim('other', { class: 'on-demand', since: now - 3, servedAt: now - 3 });
    const waited = { now, refreshRisesAt: now - windowMs };
    expect(names(inOrder([person, refresh, other], waited))).toEqual(['other', 'refresh', 'person']);
    expect(names(inOrder([person, refresh, other], rules))).toEqual(['other', 'person', 'refresh']);
  });
});

describe('the place of a claim', () => {
  const waiter = (holder: string, more: Partial<Waiter> = {}): Waiter => ({
    remaining: null,
    wants: 20,
    expectedAt: now,
    ...claim(holder, more),
    ...more,
  });
  const place = (mine: Claim, waiters: Waiter[]) => placeOf(mine, waiters, rules);

  it('is behind all claims before it, without those of its own holder', () => {
    const waiters = [waiter('a', { since: now - 2 }), waiter('b', { since: now - 1 }), waiter('c')];
    expect(place(claim('b', { since: now - 1 }), waiters)).toMatchObject({ ahead: 1, behind: ['a'] });
    expect(place(claim('new'), waiters)).toMatchObject({ ahead: 3, behind: ['a', 'b', 'c'] });
    expect(place(claim('new', { class: 'on-demand' }), waiters)).toMatchObject({ ahead: 0, behind: [] });
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
    expect(place(claim('new'), late)).toEqual({ ahead: 1, behind: ['b'], contended: true });
    expect(placeKeptMs).toBeGreaterThan(60_000);
  });

  it('is contended while others wait that are as urgent or more, and not for those that come later anyway', () => {
    const contended = (mine: string, theirs: Waiter[]) =>
      place(claim('me', { class: mine === 'refresh' ? 'refresh' : 'on-demand' }), theirs).contended;
    const person = waiter('p', { class: 'on-demand' });
    expect([contended('refresh', [person]), contended('on-demand', [person])]).toEqual([true, true]);
    expect([contended('refresh', [waiter('r')]), contended('on-demand', [waiter('r')])]).toEqual([true, false]);
    expect(contended('refresh', [waiter('me')])).toBe(false);
  });
});
