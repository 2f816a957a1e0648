import type { Client } from '@temporalio/client';
import { operationFailure } from './cli-failure.ts';
import { grpc, grpcStatus } from './grpc-failure.ts';
import { workerPolls } from './worker-watch.ts';

const answerWithinMs = 10_000;

/** A worker's answer to a query or update. Throws the failure `NoWorker` when none answers. */
export async function askWorker<Answer>(
  client: Client,
  taskQueue: string,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await client.withDeadline(Date.now() + answerWithinMs, ask);
  } catch (error) {
    const code = grpcStatus(error)?.code;
    // A call whose deadline has passed is cancelled at times, by the library or by the server.
    const unanswered = [grpc.deadlineExceeded, grpc.cancelled, grpc.failedPrecondition].some((each) => each === code);
    // If Temporal itself answers, it was the worker that did not.
    if (unanswered && (await workerPolls(client, taskQueue)) !== null) {
      const hint = 'start one with `docferry worker` or `docferry up`';
      throw operationFailure('NoWorker', `no worker of the task queue ${taskQueue} answers`, hint);
    }
    throw error;
  }
}
