import type { FailureType } from '../rules/failure-types.ts';

/** What an operator can do about a failed workflow, where its message does not say it. */
const hints: Readonly<Record<FailureType, string>> = {
  Unauthorized: 'check the API key of the organization (organizations[].apiKey), then start it again',
  PlanRequired: "ask the service's vendor for a plan with static export, or use the key of an organization that has it",
  BadRequest: 'check the ids, dates and domain in the command and in the configuration',
  NotFound: 'check that the service knows the id, and that the key belongs to its organization',
  NotReady: 'start it again later: a job at the service has not finished yet',
  RateLimited: 'start it again later; `docferry budget show` tells when',
  ServerError: 'start it again later: what was stored stays',
  NetworkError: 'check service.baseUrl and the network, then start it again: what was stored stays',
  MalformedResponse:
    'check that service.baseUrl is the documentation service, not a login page or proxy in front of it',
  BadPage: "start it again; if the same page fails again, report its number to the service's vendor",
  OutOfReach:
    "what has a date is stored, and `--pass incremental` keeps it current; report to the service's vendor how its cursors end",
  UnknownSite: 'give every worker a configuration that has the site, and restart the workers',
  UnknownProject: 'give every worker a configuration that has the project, and restart the workers',
  InvalidInput: 'see `docferry export status`',
  StoreMismatch: 'give all workers of the task queue the same store, then start it again',
  StoreUnavailable: 'give the worker a usable store, then start it again: nothing half-written was kept',
  Superseded: 'see `docferry export versions`: a newer export has published since',
  AttemptReplaced: 'nothing to do: a newer attempt of the step continues',
  StartUncertain: 'check at the service whether a job is running, then start it again',
  LinkRefused: 'if its host is right, allow it in service.linkHosts',
  DownloadFailed: 'start it again; the last published version keeps serving',
  ArchiveTooLarge: 'if the size is right, raise bundle.maxBytes of the site',
  PublishRefused: 'start it again with --force; `docferry export versions` shows what is published',
  NoSuchVersion: 'see `docferry export versions`',
  VersionDamaged: 'take another version; `docferry store verify` names all that are damaged',
  JobFailed: 'start it again; the last published version keeps serving',
  WebhookRefused: 'see what the receiver logged; nothing else waits for it',
  WebhookUnreachable: 'check that the receiver is running; nothing else waits for it',
  WorkerShutdown: 'start it again once a worker is running: what was stored stays',
  RolloutFailed: 'fix the target, then start it again: nothing is published twice',
};

export function workflowHint(code: string): string | null {
  return Object.hasOwn(hints, code) ? hints[code as FailureType] : null;
}
