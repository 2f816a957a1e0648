import { type ExitCode, exitCodes } from './exit-codes.ts';

/** How a command failed, as people and scripts are told (contracts.md `{error: {code, message, hint}}`). */
export interface Failure {
  /** Stable name for scripts. */
  code: string;
  message: string;
  /** What to do next; null when the message says it. */
  hint: string | null;
  exitCode: ExitCode;
}

/** A failure that the command line itself found. */
export class CliFailure extends Error implements Failure {
  override readonly name = 'CliFailure';
  readonly code: string;
  readonly hint: string | null;
  readonly exitCode: ExitCode;

  constructor({ code, message, hint, exitCode }: Failure) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

/** Something in the command's own words is wrong; names the flag or argument. */
export function usageFailure(message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code: 'Usage', message, hint, exitCode: exitCodes.usage });
}

/** What was named does not exist. */
export function noSuchThing(code: string, message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code, message, hint, exitCode: exitCodes.noSuchThing });
}
