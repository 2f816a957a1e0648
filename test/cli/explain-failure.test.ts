import { ServiceError, WorkflowFailedError } from '@temporalio/client';
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  RetryState,
  TerminatedFailure,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { explainFailure, workflowHint } from '../../src/cli/explain-failure.ts';
import { ConfigError } from '../../src/config/secrets.ts';
import { FeedbackStoreUnavailable } from '../../src/feedback/store/feedback-store-unavailable.ts';
import { PortTaken } from '../../src/http-server.ts';
import { ExportRunning } from '../../src/operations/exports.ts';
import { TemporalUnreachable } from '../../src/temporal/connection.ts';

function failedWorkflow(cause: Error): WorkflowFailedError {
  return new WorkflowFailedError('Workflow execution failed', cause, RetryState.NON_RETRYABLE_FAILURE);
}

function failedActivity(type: string, message: string): WorkflowFailedError {
  const cause = ApplicationFailure.nonRetryable(message, type);
  return failedWorkflow(
    new ActivityFailure('Activity task failed', 'startJob', '1', RetryState.NON_RETRYABLE_FAILURE, 'w', cause),
  );
}

function grpcError(code: number, details: string): ServiceError {
  const cause = Object.assign(new Error(details), { code, details, metadata: {} });
  return new ServiceError('Failed', { cause });
}

describe('a failed workflow', () => {
  it('is reported by its innermost cause, with code and next step', () => {
    expect(explainFailure(failedActivity('Unauthorized', 'the key was refused (401)'))).toEqual({
      code: 'Unauthorized',
      message: 'the key was refused (401)',
      hint: expect.stringContaining('working key'),
      exitCode: 1,
    });
  });

  it('is exit code 4 where something does not exist', () => {
    for (const type of ['UnknownSite', 'UnknownProject', 'NotFound']) {
      expect(explainFailure(failedActivity(type, 'no such thing')).exitCode).toBe(4);
    }
  });

  it('says when it was cancelled, terminated or out of time', () => {
    const codes = [
      new CancelledFailure('cancelled'),
      new TerminatedFailure('terminated'),
      new TimeoutFailure('timed out', undefined, TimeoutType.HEARTBEAT),
    ].map((cause) => explainFailure(failedWorkflow(cause)));
    expect(codes).toMatchObject([{ code: 'Cancelled' }, { code: 'Terminated' }, { code: 'TimedOut' }]);
    for (const { exitCode } of codes) expect(exitCode).toBe(1);
  });

  it('has no next step when its type is not one of ours', () => {
    expect(workflowHint('RolloutFailed')).toMatch(/\S/);
    for (const type of ['Error', 'constructor']) expect(workflowHint(type)).toBeNull();
  });
});

describe('other errors', () => {
  it.each([
    [new ConfigError('no file', [], 'make one'), 'InvalidConfiguration', 2],
    [new TemporalUnreachable('localhost:7233'), 'TemporalUnreachable', 3],
    [grpcError(14, 'connection refused'), 'TemporalUnreachable', 3],
    [grpcError(4, 'deadline exceeded'), 'TemporalUnreachable', 3],
    [grpcError(1, 'Call cancelled'), 'TemporalUnreachable', 3],
    [grpcError(16, 'bad token'), 'TemporalRefused', 3],
    [grpcError(5, 'Namespace docs is not found.'), 'TemporalNotFound', 2],
    [new PortTaken({ host: '127.0.0.1', port: 7233, flag: '--port' }), 'PortTaken', 1],
    [new ExportRunning('runs already'), 'ExportRunning', 1],
    [new FeedbackStoreUnavailable('f.db', 'it is locked', 'Close it.'), 'StoreUnavailable', 1],
    [Object.assign(new Error('EROFS: read-only'), { code: 'EROFS', path: '/data' }), 'FileSystem', 1],
    [Object.assign(new Error('in use'), { code: 'EADDRINUSE', port: 8090 }), 'PortTaken', 1],
    [new Error('surprise'), 'Failed', 1],
    ['surprise', 'Failed', 1],
  ])('%s', (error, code, exitCode) => {
    const failure = explainFailure(error);
    expect(failure).toMatchObject({ code, exitCode });
    expect(failure.hint).toMatch(/\S/);
  });

  it('give message and hint once each', () => {
    const { message, hint } = explainFailure(new FeedbackStoreUnavailable('f.db', 'it is locked', 'Close it.'));
    expect({ message, hint }).toEqual({ message: 'feedback store f.db: it is locked.', hint: 'Close it.' });
  });
});
