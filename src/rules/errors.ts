/** A failure that a person can fix. `code` is stable for scripts, `hint` the next step if the message lacks it. */
export abstract class ExplainedError extends Error {
  abstract readonly code: string;
  readonly hint: string | null;

  constructor(message: string, hint: string | null = null, options?: ErrorOptions) {
    super(message, options);
    this.hint = hint;
  }
}

/** Types of `ApplicationFailure`, which are also the `code` of `{error: {code, message, hint}}` (contracts.md). */
const failureTypes = [
  'Unauthorized',
  'PlanRequired',
  'BadRequest',
  'NotFound',
  'NotReady',
  'RateLimited',
  'ServerError',
  'NetworkError',
  'MalformedResponse',
  'BadPage',
  'OutOfReach',
  'UnknownSite',
  'UnknownProject',
  'InvalidInput',
  'StoreMismatch',
  'StoreUnavailable',
  'SiteHeld',
  'Superseded',
  'AttemptReplaced',
  'StartUncertain',
  'LinkRefused',
  'DownloadFailed',
  'ArchiveTooLarge',
  'PublishRefused',
  'NoSuchVersion',
  'VersionDamaged',
  'JobFailed',
  'RolloutFailed',
  'VersionRefused',
  'WebhookRefused',
  'WebhookUnreachable',
  'WorkerShutdown',
  'HeartbeatRefused',
] as const;

export type FailureType = (typeof failureTypes)[number];

/** `JobFailed: the job …` without the type, which is for scripts. Other errors keep theirs: it may be all they say. */
export function withoutFailureType(summary: string): string {
  const [, type, words = ''] = /^(\w+): (.*)$/s.exec(summary) ?? [];
  return failureTypes.some((known) => known === type) ? words : summary;
}
