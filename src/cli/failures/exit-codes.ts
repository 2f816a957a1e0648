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
