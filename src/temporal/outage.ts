import { isGrpcServiceError } from '@temporalio/client';

/** Transient gRPC codes. Others, such as a missing permission, will not change. */
const transient: ReadonlySet<number> = new Set(
  Object.values({
    cancelled: 1,
    unknown: 2,
    deadlineExceeded: 4,
    exhausted: 8,
    aborted: 10,
    internal: 13,
    unavailable: 14,
  }),
);

/** Whether the server is away, restarting or overloaded, so that asking again may help. */
export function isOutage(error: unknown): boolean {
  return (
    (isGrpcServiceError(error) && transient.has(error.code)) ||
    (error instanceof Error && error.cause !== undefined && isOutage(error.cause))
  );
}
