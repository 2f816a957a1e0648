import { type Handover, handoverIn, type WithHandover } from '../model/temporal-settings.ts';

// Temporal gives every run its own instance of this module.
let followed: Handover = 'quick';

/** Called first by a workflow whose input says how its steps are watched. */
export function followHandover(input: WithHandover): void {
  followed = handoverIn(input);
}

/** The handover of this run. */
export const runHandover = (): Handover => followed;
