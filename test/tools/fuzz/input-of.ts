import { Random, seedOf } from './random.ts';
import { tarInput } from './tar-input.ts';
import { zipInput } from './zip-input.ts';

/** The input with this number in the run with this seed. */
export function inputOf(seed: number, index: number): Buffer {
  const random = new Random(seedOf(seed, index));
  return index % 2 === 0 ? tarInput(random) : zipInput(random);
}
