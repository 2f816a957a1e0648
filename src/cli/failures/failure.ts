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
import { PortTaken as BundlePortTaken } from '../../bundle/server/bundle-server.ts';
import { NoSuchVersion } from '../../bundle/store/bundle-store.ts';
import {
  SigningKeyUnusable,
  StoreNotWritable,
  StoreRefused,
  StoreUnreachable,
} from '../../bundle/store/store-errors.ts';
import { BrowserUnusable } from '../../bundle/verification/render/browser-unusable.ts';
import { ExportRunning } from '../../client/exports.ts';
import { ScheduleRefused } from '../../client/schedules.ts';
import { TemporalSettingsInvalid, TemporalUnreachable } from '../../client/temporal-connection.ts';
import { ConfigError } from '../../config/config-error.ts';
import { EmbeddedError } from '../../embedded/embedded-errors.ts';
import { FeedbackStoreUnavailable } from '../../feedback/feedback-store-unavailable.ts';
import { CliFailure, type Failure } from './cli-failure.ts';
import { exitCodes } from './exit-codes.ts';
import { grpcFailure } from './grpc-failure.ts';
import { systemFailure } from './system-failure.ts';
import { workflowHint } from './workflow-hints.ts';

const startTemporal = 'start one with `docferry up`, or correct temporal.address in the configuration';

const checkTemporalSettings = 'check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE and the files that TEMPORAL_TLS_… name';

/** Failures of workflows that say that something does not exist, for the workers or for the service. */
const missing: ReadonlySet<string> = new Set(['UnknownSite', 'UnknownProject', 'NotFound', 'NoSuchVersion']);

/** Every error a command can end with, as people and scripts are told (contracts.md). */
export function explainFailure(error: unknown): Failure {
  if (error instanceof CliFailure) return error;
  if (error instanceof ConfigError) return failure('InvalidConfiguration', error.message, error.hint, exitCodes.usage);
  if (error instanceof TemporalUnreachable) {
    return failure('TemporalUnreachable', error.message, startTemporal, exitCodes.temporalUnreachable);
  }
  if (error instanceof TemporalSettingsInvalid) {
    return failure('TemporalSettingsInvalid', error.message, checkTemporalSettings, exitCodes.usage);
  }
  if (error instanceof EmbeddedError) return failure(error.code, error.message, error.hint);
  if (error instanceof BundlePortTaken) return failure('PortTaken', error.message, 'choose another with --bundle-port');
  if (error instanceof StoreNotWritable) return failure('StoreUnavailable', error.message, null);
  if (error instanceof SigningKeyUnusable) return failure('SigningKeyUnusable', error.message, error.fix);
  if (error instanceof BrowserUnusable) return failure('BrowserUnusable', error.message, error.fix);
  if (error instanceof StoreRefused) return failure('StoreUnavailable', error.message, error.fix);
  if (error instanceof StoreUnreachable) {
    return failure('StoreUnavailable', error.message, 'check store.bundles.s3.endpoint and the network, or try later');
  }
  if (error instanceof FeedbackStoreUnavailable) return storeFailure(error);
  if (error instanceof ExportRunning) {
    return failure('ExportRunning', error.message, 'wait for it, or cancel it with `docferry export cancel`');
  }
  if (error instanceof NoSuchVersion) {
    return failure('NoSuchVersion', error.message, 'see `docferry export versions`', exitCodes.noSuchThing);
  }
  if (error instanceof ScheduleRefused) {
    return failure('ScheduleRefused', error.message, 'correct it in the configuration', exitCodes.usage);
  }
  if (error instanceof ScheduleNotFoundError) {
    return failure('UnknownSchedule', 'the schedule is gone', 'see `docferry schedules list`', exitCodes.noSuchThing);
  }
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError) return workflowFailure(error);
  if (error instanceof WorkflowNotFoundError) {
    return failure('NotRunning', 'nothing of that name runs or ran lately', null, exitCodes.noSuchThing);
  }
  if (error instanceof ServiceError || isGrpcServiceError(error)) return grpcFailure(error);
  if (error instanceof TemporalFailure) return temporalFailure(error);
  return systemFailure(error) ?? unknownFailure(error);
}

function workflowFailure(error: WorkflowFailedError | WorkflowUpdateFailedError): Failure {
  return error.cause instanceof Error ? temporalFailure(error.cause) : unknownFailure(error);
}

/** A failure counts by its innermost cause: activities say there what happened, in words that may be shown. */
function temporalFailure(outer: Error): Failure {
  let cause = outer;
  while (cause instanceof TemporalFailure && cause.cause) cause = cause.cause;
  if (cause instanceof ApplicationFailure) {
    const code = cause.type ?? 'Failed';
    const exitCode = missing.has(code) ? exitCodes.noSuchThing : exitCodes.failed;
    return failure(code, cause.message, workflowHint(code), exitCode);
  }
  if (cause instanceof CancelledFailure) return failure('Cancelled', 'it was cancelled', null);
  if (cause instanceof TerminatedFailure) return failure('Terminated', 'it was terminated in Temporal', null);
  if (cause instanceof TimeoutFailure) {
    return failure(
      'TimedOut',
      'a step ran out of time',
      'see its last failure in the Temporal UI, and whether a worker runs',
    );
  }
  return unknownFailure(cause);
}

function storeFailure({ message, fix }: FeedbackStoreUnavailable): Failure {
  return failure('StoreUnavailable', message.replace(` ${fix}`, ''), fix);
}

function unknownFailure(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return failure('Failed', message, 'set DOCFERRY_DEBUG=1 to see where it comes from');
}

function failure(
  code: string,
  message: string,
  hint: string | null,
  exitCode: Failure['exitCode'] = exitCodes.failed,
): Failure {
  return { code, message, hint, exitCode };
}
