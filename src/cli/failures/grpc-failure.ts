import { isGrpcServiceError } from '@temporalio/client';
import type { Failure } from './cli-failure.ts';
import { exitCodes } from './exit-codes.ts';

/** Status codes of gRPC that say something to a person. */
export const grpc = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const unreachable = exitCodes.temporalUnreachable;

/** An error of a call to Temporal. */
export function grpcFailure(error: Error): Failure {
  const status = grpcStatus(error);
  const said = status === null ? error.message : status.details;
  switch (status?.code) {
    case grpc.unavailable:
    case grpc.deadlineExceeded:
      return {
        code: 'TemporalUnreachable',
        message: 'Temporal does not answer',
        hint: 'check that it runs, and that temporal.address is right',
        exitCode: unreachable,
      };
    case grpc.permissionDenied:
    case grpc.unauthenticated:
      return {
        code: 'TemporalRefused',
        message: `Temporal refused the connection: ${said}`,
        hint: "check the certificate or API key in Temporal's own variables or profile",
        exitCode: unreachable,
      };
    case grpc.failedPrecondition:
      if (/no poller/i.test(said)) return noWorkerFailure(said);
      return otherFailure(said);
    case grpc.resourceExhausted:
      return {
        code: 'TemporalBusy',
        message: `Temporal is busy: ${said}`,
        hint: 'try again',
        exitCode: exitCodes.failed,
      };
    case grpc.notFound:
      return {
        code: 'TemporalNotFound',
        message: `Temporal does not know it: ${said}`,
        hint: 'check temporal.namespace in the configuration',
        exitCode: exitCodes.usage,
      };
    default:
      return otherFailure(said);
  }
}

function noWorkerFailure(said: string): Failure {
  return {
    code: 'NoWorker',
    message: `no worker answers (Temporal says: ${said})`,
    hint: 'start one with `docferry worker` or `docferry up`',
    exitCode: exitCodes.failed,
  };
}

function otherFailure(said: string): Failure {
  const hint = searchAttributeHint(said);
  return { code: 'TemporalFailed', message: `Temporal said: ${said}`, hint, exitCode: exitCodes.failed };
}

/** Code and details of a gRPC error, also of one wrapped in another; null for other errors. */
export function grpcStatus(error: unknown): { code: number; details: string } | null {
  if (isGrpcServiceError(error)) return { code: error.code, details: error.details };
  return error instanceof Error && error.cause !== undefined ? grpcStatus(error.cause) : null;
}

function searchAttributeHint(said: string): string | null {
  if (!/search attribute/i.test(said)) return null;
  return 'register DocferryOrg, DocferryDomain, DocferryProject and DocferryPhase as Keyword in the namespace: `docferry setup`';
}
