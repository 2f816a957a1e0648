/** Random choices that are the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.#next() * below);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.below(choices.length)];
    if (chosen === undefined) throw new RangeError('nothing to choose from');
    return chosen;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  /** A xorshift of the state, spread by two multiplications. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** A different seed for each input of a run. */
export function seedOf(run: number, index: number): number {
  return Math.imul(run ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35);
}

/** At least one of them, if there are any. */
export function someOf<T>(random: Random, all: readonly T[]): T[] {
  const chosen = all.filter(() => random.chance(0.4));
  return chosen.length > 0 || all.length === 0 ? chosen : [random.pick(all)];
}

/** None to three of the kinds, in their own order. */
export function kindsOf(random: Random, names: readonly string[]): string[] {
  const chosen = new Set(Array.from({ length: random.pick([0, 1, 1, 2, 2, 3]) }, () => random.pick(names)));
  return names.filter((name) => chosen.has(name));
}

/** All pairs of kinds, each as `one + other`. */
export function pairsOf(names: readonly string[]): string[] {
  return names.flatMap((one, index) => names.slice(index + 1).map((other) => `${one} + ${other}`));
}
