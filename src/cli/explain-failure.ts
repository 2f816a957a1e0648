import {
  isGrpcServiceError,
  ScheduleNotFoundError,
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import {
  ApplicationFailure,
  CancelledFailure,
  TemporalFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { pathProblem } from '../files.ts';
import { ExplainedError, type FailureType } from '../rules/errors.ts';
import { grpc, grpcStatus } from '../temporal/connection.ts';
import { explainedFailure, type Failure, failureOf } from './context.ts';

/** An error of a call to Temporal. */
export function grpcFailure(error: Error): Failure {
  const status = grpcStatus(error);
  const said = status === null ? error.message : status.details;
  switch (status?.code) {
    case grpc.unavailable:
    // By the server, after the call's deadline.
    case grpc.cancelled:
    case grpc.deadlineExceeded: {
      const hint = 'check that it is running and that temporal.address is right';
      return failureOf('TemporalUnreachable', 'Temporal does not answer', hint);
    }
    case grpc.permissionDenied:
    case grpc.unauthenticated: {
      const hint = "check the certificate or API key in Temporal's own variables or profile";
      return failureOf('TemporalRefused', `Temporal refused the connection: ${said}`, hint);
    }
    case grpc.resourceExhausted:
      return failureOf('TemporalBusy', `Temporal is busy: ${said}`, 'try again');
    case grpc.notFound: {
      const hint = 'check temporal.namespace in the configuration';
      return failureOf('TemporalNotFound', `Temporal does not know it: ${said}`, hint);
    }
    default:
      if (status?.code === grpc.failedPrecondition && /no poller/i.test(said)) {
        const hint = 'start one with `docferry worker` or `docferry up`';
        return failureOf('NoWorker', `no worker answers (Temporal says: ${said})`, hint);
      }
      return failureOf('TemporalFailed', `Temporal said: ${said}`, searchAttributeHint(said));
  }
}

function searchAttributeHint(said: string): string | null {
  if (!/search attribute/i.test(said)) return null;
  return 'register DocferryOrg, DocferryDomain, DocferryProject and DocferryPhase as Keyword in the namespace: `docferry setup`';
}

/** An error of the operating system in words for an operator; null when it is another error. */
function systemFailure(error: unknown): Failure | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  const { code, message } = error;
  if (code === 'EADDRINUSE') {
    const port = 'port' in error ? `port ${String(error.port)}` : 'the port';
    return failureOf('PortTaken', `${port} is in use by another program`, 'stop that program, or choose another port');
  }
  const problem = pathProblem(error);
  if (problem === null) return null;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : null;
  return failureOf('FileSystem', path === null ? message : `${path} ${problem.what}`, problem.fix);
}

/** What an operator can do about a failed workflow, where its message does not say it. */
const hints: Readonly<Record<FailureType, string>> = {
  Unauthorized:
    'put a working key into organizations[].apiKeyFile and run `docferry doctor --key`, or set organizations[].apiKey and restart the workers; then start it again',
  PlanRequired: 'check that it is an admin API key of this organization; static export also needs an Enterprise plan',
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
  SiteHeld: 'see `docferry export status`; `docferry export release` ends the hold',
  Superseded: 'see `docferry export versions`: a newer export has published since',
  AttemptReplaced: 'nothing to do: a newer attempt of the step continues',
  StartUncertain: 'check at the service whether a job is running, then start it again',
  LinkRefused:
    'if the link leads where it should, change what the message names in docferry.yaml and restart the workers',
  DownloadFailed: 'start it again; the last published version keeps serving',
  ArchiveTooLarge: 'if the size is right, raise bundle.maxBytes of the site',
  PublishRefused: 'start it again with --force; `docferry export versions` shows what is published',
  NoSuchVersion: 'see `docferry export versions`',
  VersionDamaged: 'take another version; `docferry store verify` names all that are damaged',
  JobFailed: 'start it again; the last published version keeps serving',
  WebhookRefused: 'see what the receiver logged; nothing else waits for it',
  WebhookUnreachable: 'check that the receiver is running; nothing else waits for it',
  WorkerShutdown: 'start it again once a worker is running: what was stored stays',
  HeartbeatRefused: 'check what the worker may do in the namespace, and its codec; then start the run again',
  RolloutFailed: 'fix the target, then start it again: nothing is published twice',
  VersionRefused: 'look at what readers get, and at the version; the next export tries again',
};

export function workflowHint(code: string): string | null {
  return Object.hasOwn(hints, code) ? hints[code as FailureType] : null;
}

/** Every error a command can end with, in the form that people and scripts see (contracts.md). */
export function explainFailure(error: unknown): Failure {
  if (error instanceof ExplainedError) return explainedFailure(error);
  if (error instanceof ScheduleNotFoundError) {
    return failureOf('UnknownSchedule', 'the schedule is gone', 'see `docferry schedules list`');
  }
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError) {
    return temporalFailure(error.cause ?? error);
  }
  if (error instanceof WorkflowNotFoundError) {
    return failureOf('NotRunning', 'nothing with that name is running or ran recently');
  }
  if (error instanceof ServiceError || isGrpcServiceError(error)) return grpcFailure(error);
  if (error instanceof TemporalFailure) return temporalFailure(error);
  return systemFailure(error) ?? unknownFailure(error);
}

/** The innermost cause counts: there activities say what happened, in words that may be shown. */
function temporalFailure(outer: Error): Failure {
  let cause = outer;
  while (cause instanceof TemporalFailure && cause.cause) cause = cause.cause;
  if (cause instanceof ApplicationFailure) {
    const code = cause.type ?? 'Failed';
    return failureOf(code, cause.message, workflowHint(code));
  }
  if (cause instanceof CancelledFailure) return failureOf('Cancelled', 'it was cancelled');
  if (cause instanceof TerminatedFailure) return failureOf('Terminated', 'it was terminated in Temporal');
  if (cause instanceof TimeoutFailure) {
    const hint = 'see its last failure in the Temporal UI, and check that a worker is running';
    return failureOf('TimedOut', 'a step ran out of time', hint);
  }
  return unknownFailure(cause);
}

function unknownFailure(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return failureOf('Failed', message, 'set DOCFERRY_DEBUG=1 to see where it comes from');
}
