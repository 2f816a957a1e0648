import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { getActivator } from '@temporalio/workflow/lib/global-attributes.js';

declare global {
  /** The random numbers with which this run began; Temporal gives every run its own globals. */
  var docferryRandom: (() => number) | undefined;
}

/*
 * `temporal workflow reset` gives a run another seed of random numbers, at the same place of its history in every replay,
 * and tells it nothing else. The SDK takes a new seed before all messages of an activation.
 */

/** Options of a workflow that must notice resets, the one to its first task too: they are read before any reset counts. */
export function noticesResets(): WorkflowDefinitionOptions {
  globalThis.docferryRandom = getActivator().random;
  return {};
}

/** Whether the run was reset since its begin or since this last said so. */
export const wasReset = (): boolean => getActivator().random !== globalThis.docferryRandom;

/** Call when the reset has been taken into account. */
export function resetNoticed(): void {
  globalThis.docferryRandom = getActivator().random;
}
