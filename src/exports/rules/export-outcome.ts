import type { Reason } from './archive-facts.ts';

/** How an export ends; `rollout-failed`: the version is in place, and at least one target does not run it. */
export type ExportOutcome = 'published' | 'unchanged' | 'rejected' | 'rollout-failed';

/** How a rollback ends. */
export type RollbackOutcome = 'rolled-back' | 'rollout-failed';

/** How a run of either ends, those without a result included. */
export const runOutcomes = [
  'published',
  'unchanged',
  'rejected',
  'rollout-failed',
  'rolled-back',
  'failed',
  'cancelled',
] as const satisfies (ExportOutcome | RollbackOutcome | 'failed' | 'cancelled')[];
export type RunOutcome = (typeof runOutcomes)[number];

/** `outcome`, unless a target failed. */
export function outcomeWith<Outcome extends RunOutcome>(
  outcome: Outcome,
  rollouts: readonly { target: string; outcome: string }[],
): Outcome | 'rollout-failed' {
  return failedTargets(rollouts).length === 0 ? outcome : 'rollout-failed';
}

/** Names of the targets that a rollout did not reach. */
export function failedTargets(rollouts: readonly { target: string; outcome: string }[]): string[] {
  return rollouts.filter(({ outcome }) => outcome === 'failed').map(({ target }) => target);
}

/** What a row and Current Details say about an end. */
export interface EndDetail {
  /** The failure's type and message, of a run without a result. */
  error?: string;
  reasons?: readonly Reason[];
  rollouts?: readonly { target: string; outcome: string; detail: string }[];
}

/** Rules by which a person, or the time that passed without one, declines a version: a decision, no failure. */
export const declinedRules = ['not-approved', 'approval-expired'] as const;

export const isDeclined = (rule: string): boolean => declinedRules.some((one) => one === rule);

/** Whether an end is one that a person should look at; the overview's `failingSince` counts the same ends. */
export function isBadEnd(outcome: string, { reasons: [reason] = [] }: EndDetail): boolean {
  if (outcome === 'rejected') return reason === undefined || !isDeclined(reason.rule);
  return outcome === 'failed' || outcome === 'rollout-failed';
}

/** Whether an export, a rollback or a pass ended as it should. */
export const endsWell = (outcome: string): boolean =>
  ['published', 'unchanged', 'rolled-back', 'completed'].includes(outcome);

/** Why a run ended as it did: the failure, the first reason, or the targets that failed; empty when all went well. */
export function whyEnded({ error, reasons = [], rollouts = [] }: EndDetail): string {
  if (error !== undefined) return error;
  const [reason] = reasons;
  if (reason) return `${reason.rule}: ${reason.detail}`;
  const failed = rollouts.filter(({ outcome }) => outcome === 'failed');
  return failed.map(({ target, detail }) => `${target}: ${detail}`).join('; ');
}
