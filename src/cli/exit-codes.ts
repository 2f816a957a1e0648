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

const exitCodeOfFailure: ReadonlyMap<string, ExitCode> = new Map([
  ['InvalidConfiguration', exitCodes.usage],
  ['ScheduleRefused', exitCodes.usage],
  ['TemporalNotFound', exitCodes.usage],
  ['TemporalSettingsInvalid', exitCodes.usage],
  ['TemporalRefused', exitCodes.temporalUnreachable],
  ['TemporalUnreachable', exitCodes.temporalUnreachable],
  ['NoSuchVersion', exitCodes.noSuchThing],
  ['NotFound', exitCodes.noSuchThing],
  ['NotRunning', exitCodes.noSuchThing],
  ['UnknownProject', exitCodes.noSuchThing],
  ['UnknownSchedule', exitCodes.noSuchThing],
  ['UnknownSite', exitCodes.noSuchThing],
]);

/** The exit code of a failure that an error's or workflow's own code names; 1 unless listed. */
export function exitCodeOf(code: string): ExitCode {
  return exitCodeOfFailure.get(code) ?? exitCodes.failed;
}
