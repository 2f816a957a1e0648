import { describe, expect, it } from 'vitest';
import { type DisturbanceKind, disturbanceKinds, disturbancesOf } from './plan.ts';

const kinds = Object.keys(disturbanceKinds) as DisturbanceKind[];
const round = Object.values(disturbanceKinds).reduce<number>((sum, weight) => sum + weight, 0);

function first(count: number, seed: number, without: DisturbanceKind[] = []) {
  const plan = disturbancesOf(seed, without);
  return Array.from({ length: count }, () => {
    const { value } = plan.next();
    if (value === undefined) throw new Error('the plan has ended');
    return value;
  });
}

describe('the plan of a soak', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(first(50, 7)).toEqual(first(50, 7));
    expect(first(50, 7)).not.toEqual(first(50, 8));
  });

  it.each([1, 2, 3])('has every kind as often as its weight says in each round (seed %i)', (seed) => {
    const plan = first(2 * round, seed).map(({ kind }) => kind);
    for (const one of [plan.slice(0, round), plan.slice(round)]) {
      const counts = kinds.map((kind) => [kind, one.filter((other) => other === kind).length]);
      expect(Object.fromEntries(counts)).toEqual(disturbanceKinds);
    }
    expect(plan.slice(0, round)).not.toEqual(plan.slice(round));
  });

  it('leaves out what this machine cannot do, and nothing else changes', () => {
    const all = first(2 * round, 4).filter(({ kind }) => kind !== 'disk full');
    expect(first(all.length, 4, ['disk full'])).toEqual(all);
  });
});
