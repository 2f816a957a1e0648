import { createRandom, type Random, seedOf } from '../../sandbox/random.ts';

/** What is done to docferry and to all it stands on. */
export const disturbanceKinds = {
  'worker killed': 4,
  'worker ended': 1,
  'Temporal killed': 3,
  'PostgreSQL killed': 3,
  'everything killed': 1,
  'disk full': 2,
  'clock of a worker jumps': 2,
  'feedback answers fail': 2,
  'feedback pages are cut': 1,
  'feedback answers 429': 1,
  'key refused': 1,
  'jobs fail': 1,
  'job answers lost': 1,
  'downloads cut': 2,
  'links expire': 1,
  'bundle replaced': 1,
  'receiver fails': 1,
  'limit changed': 2,
  'site taken out': 1,
  'failover changed': 1,
  'build replaced': 2,
} as const;
export type DisturbanceKind = keyof typeof disturbanceKinds;

/** One disturbance of the plan. */
export interface Disturbance {
  kind: DisturbanceKind;
  /** Rest before it, in milliseconds. */
  restMs: number;
  /** From 0 to 1: which of several, how many, how long. */
  dice: [number, number, number];
}

const shortestRestMs = 2_000;
const longestRestMs = 12_000;

/**
 * The disturbances of a seed, without end and always the same: each round has every kind as often as its weight says, in
 * an order of its own.
 */
export function* disturbancesOf(seed: number, without: readonly DisturbanceKind[] = []): Generator<Disturbance> {
  const random = createRandom(seedOf(seed, 'plan'));
  const weights = Object.entries(disturbanceKinds) as [DisturbanceKind, number][];
  const round = weights.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));
  for (;;) {
    for (const kind of shuffled(round, random)) {
      const restMs = shortestRestMs + Math.floor(random() * (longestRestMs - shortestRestMs));
      const dice: Disturbance['dice'] = [random(), random(), random()];
      if (!without.includes(kind)) yield { kind, restMs, dice };
    }
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

/** One of them by a number from 0 to 1. */
export function chosen<Item>(items: readonly Item[], die: number): Item {
  const item = items[Math.min(items.length - 1, Math.floor(die * items.length))];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}
