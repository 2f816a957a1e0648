import { isGrpcServiceError } from '@temporalio/client';
import { type Failure, failureOf } from './cli-failure.ts';

/** gRPC status codes that mean something to an operator. */
export const grpc = {
  cancelled: 1,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** An error of a call to Temporal. */
export function grpcFailure(error: Error): Failure {
  const status = grpcStatus(error);
  const said = status === null ? error.message : status.details;
  switch (status?.code) {
    case grpc.unavailable:
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

/** Code and details of a gRPC error, also of one wrapped in another; null for other errors. */
export function grpcStatus(error: unknown): { code: number; details: string } | null {
  if (isGrpcServiceError(error)) return { code: error.code, details: error.details };
  return error instanceof Error && error.cause !== undefined ? grpcStatus(error.cause) : null;
}

function searchAttributeHint(said: string): string | null {
  if (!/search attribute/i.test(said)) return null;
  return 'register DocferryOrg, DocferryDomain, DocferryProject and DocferryPhase as Keyword in the namespace: `docferry setup`';
}
