import { generalRefusals } from './general-refusals.ts';
import type { Refusal } from './refusal.ts';
import { tarRefusals } from './tar-refusals.ts';
import { zipRefusals } from './zip-refusals.ts';

export type { Refusal } from './refusal.ts';

/** For each rule about structure, archives that break it. */
export const refusedArchives: readonly Refusal[] = [...generalRefusals, ...tarRefusals, ...zipRefusals];
