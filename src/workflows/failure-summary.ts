import { ApplicationFailure, rootCause, TemporalFailure, TimeoutFailure } from '@temporalio/common';

/** `Type: message` of the original failure, for a row in the store; activities keep secrets out of both. */
export function failureSummary(error: unknown): string {
  const cause = innermost(error);
  if (cause instanceof ApplicationFailure && cause.type) return `${cause.type}: ${cause.message}`;
  return rootCause(error) ?? 'unknown failure';
}

/** The type of the original failure, e.g. `StartUncertain`; null for anything but an ApplicationFailure. */
export function failureType(error: unknown): string | null {
  const cause = innermost(error);
  return cause instanceof ApplicationFailure ? (cause.type ?? null) : null;
}

/** Whether an activity ran out of time, as it does when its worker died. */
export function timedOut(error: unknown): boolean {
  return innermost(error) instanceof TimeoutFailure;
}

/** The original failure: Temporal wraps it once for every layer it passes. */
export function innermost(error: unknown): unknown {
  let current = error;
  while (current instanceof TemporalFailure && current.cause) current = current.cause;
  return current;
}

/** Longest reason in Current Details, in characters. */
const reasonLength = 300;

/** The first lines of Current Details of a run that has ended. */
export function endFacts({ outcome, reason }: { outcome: string; reason: string }): [string, string][] {
  const facts: [string, string][] = [['outcome', `**${outcome}**`]];
  return reason === '' ? facts : [...facts, ['reason', reason.slice(0, reasonLength)]];
}
