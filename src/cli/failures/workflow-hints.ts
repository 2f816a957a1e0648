import type { FailureType } from '../../model/failure-types.ts';

/** What a person can do about a failed workflow, where its message does not say it. */
const hints: Readonly<Record<FailureType, string>> = {
  Unauthorized: 'check the API key of the organization (organizations[].apiKey), then start it again',
  PlanRequired: "ask the service's vendor for a plan with static export, or use the key of an organization that has it",
  BadRequest: 'check the ids, dates and domain in the command and in the configuration',
  NotFound: 'check that the service knows the id, and that the key belongs to its organization',
  NotReady: 'start it again: the job at the service is not done yet',
  RateLimited: 'start it again later; `docferry budget show` tells when',
  ServerError: 'start it again later: what was stored stays',
  NetworkError: 'check service.baseUrl and the way there, then start it again: what was stored stays',
  MalformedResponse: 'check that service.baseUrl is the documentation service and not a page before it',
  BadPage: 'start it again; if the same page fails again, tell the service its number',
  OutOfReach:
    'what has a date is stored, and `--pass incremental` keeps it current; tell the service how its cursors end',
  UnknownSite: 'give every worker the configuration that has the site, and restart them',
  UnknownProject: 'give every worker the configuration that has the project, and restart them',
  InvalidInput: 'see `docferry export status`',
  StoreMismatch: 'give all workers of the task queue the same store, then start it again',
  StoreUnavailable: 'make the store usable for the worker, then start it again: nothing half-written was kept',
  Superseded: 'see `docferry export versions`: a newer export has published in the meantime',
  StartUncertain: 'see at the service whether a job runs, then start it again',
  LinkRefused: 'allow its host in service.linkHosts if it is right',
  DownloadFailed: 'start it again; the last published version keeps serving',
  ArchiveTooLarge: 'raise bundle.maxBytes of the site if the size is right',
  PublishRefused: 'start it again with --force; `docferry export versions` shows what is published',
  NoSuchVersion: 'see `docferry export versions`',
  VersionDamaged: 'take another version; `docferry store verify` names all that are damaged',
  JobFailed: 'start it again; the last published version keeps serving',
  WebhookRefused: 'see what the receiver says about it; nothing else waits for it',
  WebhookUnreachable: 'see whether the receiver runs; nothing else waits for it',
  WorkerShutdown: 'start it again when a worker runs: what was stored stays',
  RolloutFailed: 'mend the target, then start it again: nothing is published twice',
};

export function workflowHint(code: string): string | null {
  return Object.hasOwn(hints, code) ? hints[code as FailureType] : null;
}
