import { Random, seedOf } from './random.ts';
import { tarInput, tarKindPairs, tarKindsOf } from './tar-input.ts';
import { zipInput, zipKindPairs, zipKindsOf } from './zip-input.ts';

const isTar = (index: number): boolean => index % 2 === 0;

/** The input with this number in the run with this seed. */
export function inputOf(seed: number, index: number): Buffer {
  const random = new Random(seedOf(seed, index));
  return isTar(index) ? tarInput(random) : zipInput(random);
}

/** The kinds of oddities that the input with this number combines, each after its format, and their pairs. */
export function kindsOfInput(seed: number, index: number): { kinds: string[]; pairs: string[] } {
  const random = new Random(seedOf(seed, index));
  const kinds = isTar(index) ? tarKindsOf(random) : zipKindsOf(random);
  const named = (names: readonly string[]) => names.map((name) => `${isTar(index) ? 'tar' : 'zip'}: ${name}`);
  return { kinds: named(kinds), pairs: named(isTar(index) ? tarKindPairs(kinds) : zipKindPairs(kinds)) };
}

/** All pairs that inputs can have. */
export const allPairs = (): string[] => [
  ...tarKindPairs().map((pair) => `tar: ${pair}`),
  ...zipKindPairs().map((pair) => `zip: ${pair}`),
];
