import { type Handover, handoverIn, type WithHandover } from '../temporal/rules/failover.ts';

declare global {
  /** Temporal gives every run its own globals; modules are shared by all runs of a worker. */
  var docferryHandover: Handover | undefined;
}

/** A workflow calls this first if its input says how its steps are watched. */
export function followHandover(input: WithHandover): void {
  globalThis.docferryHandover = handoverIn(input);
}

/** The handover of this run. */
export const runHandover = (): Handover => globalThis.docferryHandover ?? 'quick';
