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
import { ExplainedError } from '../rules/explained-error.ts';
import { explainedFailure, type Failure, failureOf } from './cli-failure.ts';
import { grpcFailure } from './grpc-failure.ts';
import { systemFailure } from './system-failure.ts';
import { workflowHint } from './workflow-hints.ts';

/** Every error a command can end with, in the form that people and scripts see (contracts.md). */
export function explainFailure(error: unknown): Failure {
  if (error instanceof ExplainedError) return explainedFailure(error);
  if (error instanceof ScheduleNotFoundError) {
    return failureOf('UnknownSchedule', 'the schedule is gone', 'see `docferry schedules list`');
  }
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError) return workflowFailure(error);
  if (error instanceof WorkflowNotFoundError) {
    return failureOf('NotRunning', 'nothing with that name is running or ran recently');
  }
  if (error instanceof ServiceError || isGrpcServiceError(error)) return grpcFailure(error);
  if (error instanceof TemporalFailure) return temporalFailure(error);
  return systemFailure(error) ?? unknownFailure(error);
}

function workflowFailure(error: WorkflowFailedError | WorkflowUpdateFailedError): Failure {
  return error.cause instanceof Error ? temporalFailure(error.cause) : unknownFailure(error);
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
