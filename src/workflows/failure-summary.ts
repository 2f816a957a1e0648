import {
  ActivityFailure,
  ApplicationFailure,
  rootCause,
  TemporalFailure,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';

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

/** Whether an attempt ran out of time, as when its worker died. */
export function timedOut(error: unknown): boolean {
  // The server may name the failure of an earlier attempt as its cause.
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof TimeoutFailure && cause.timeoutType !== TimeoutType.SCHEDULE_TO_CLOSE;
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
