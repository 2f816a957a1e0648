/**
 * Types of `ApplicationFailure` that workflows and the command line tell apart. They are the `code` of
 * `{error: {code, message, hint}}` (contracts.md).
 */
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
  'Superseded',
  'StartUncertain',
  'LinkRefused',
  'DownloadFailed',
  'ArchiveTooLarge',
  'PublishRefused',
  'NoSuchVersion',
  'VersionDamaged',
  'JobFailed',
  'RolloutFailed',
  'WebhookRefused',
  'WebhookUnreachable',
  'WorkerShutdown',
] as const;

export type FailureType = (typeof failureTypes)[number];
