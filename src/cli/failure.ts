import { ExplainedError } from '../rules/errors.ts';

/** Exit codes scripts rely on (contracts.md). */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  temporalUnreachable: 3,
  noSuchThing: 4,
  stillRunning: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Where an error's or workflow's own code names a failure whose exit code is not 1. */
const exitCodeOfFailure: ReadonlyMap<string, ExitCode> = new Map([
  ['EncryptionKeyMissing', exitCodes.usage],
  ['EncryptionUnusable', exitCodes.usage],
  ['InvalidConfiguration', exitCodes.usage],
  ['ScheduleRefused', exitCodes.usage],
  ['TemporalNotFound', exitCodes.usage],
  ['TemporalSettingsInvalid', exitCodes.usage],
  ['TemporalRefused', exitCodes.temporalUnreachable],
  ['TemporalUnreachable', exitCodes.temporalUnreachable],
  ['NoSuchVersion', exitCodes.noSuchThing],
  ['NotFound', exitCodes.noSuchThing],
  ['NotHeld', exitCodes.noSuchThing],
  ['NotRunning', exitCodes.noSuchThing],
  ['UnknownProject', exitCodes.noSuchThing],
  ['UnknownSchedule', exitCodes.noSuchThing],
  ['UnknownSite', exitCodes.noSuchThing],
]);

/** How a command ends: with this code, 0 when there is none. */
export type Ending = Promise<ExitCode> | Promise<void>;

/** How a command failed, in the form that people and scripts see (contracts.md `{error: {code, message, hint}}`). */
export interface Failure {
  /** Stable name for scripts. */
  code: string;
  message: string;
  /** What to do next; null when the message says it. */
  hint: string | null;
  exitCode: ExitCode;
}

/** A failure that the command line itself found. */
export class CliFailure extends ExplainedError implements Failure {
  override readonly name = 'CliFailure';
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor({ code, message, hint, exitCode }: Failure) {
    super(message, hint);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** A failure with the exit code that belongs to its code. */
export function failureOf(code: string, message: string, hint: string | null = null): Failure {
  return { code, message, hint, exitCode: exitCodeOfFailure.get(code) ?? exitCodes.failed };
}

/** The operation failed. */
export function operationFailure(code: string, message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code, message, hint, exitCode: exitCodes.failed });
}

/** The command line is wrong; the message names the flag or argument. */
export function usageFailure(message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code: 'Usage', message, hint, exitCode: exitCodes.usage });
}

/** The named thing does not exist. */
export function noSuchThing(code: string, message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code, message, hint, exitCode: exitCodes.noSuchThing });
}

/** What an error says about itself. A message may end with the hint, which is then said once. */
export function explainedFailure(error: ExplainedError): Failure {
  if (error instanceof CliFailure) return error;
  const { code, message, hint } = error;
  return failureOf(code, hint === null ? message : message.replace(` ${hint}`, ''), hint);
}
