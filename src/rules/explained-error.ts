/**
 * A failure that a person can fix, in words for that person. `code` is stable for scripts and `hint` says what to do
 * next; the hint is null where the message says it (contracts.md).
 */
export abstract class ExplainedError extends Error {
  abstract readonly code: string;
  abstract readonly hint: string | null;
}
