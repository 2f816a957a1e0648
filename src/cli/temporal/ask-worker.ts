import type { Client } from '@temporalio/client';
import { CliFailure } from '../failures/cli-failure.ts';
import { exitCodes } from '../failures/exit-codes.ts';
import { grpc, grpcStatus } from '../failures/grpc-failure.ts';
import { workerPolls } from './worker-watch.ts';

const answerWithinMs = 10_000;

/** A worker's answer to a query or update. Throws a failure that says so when no worker answers. */
export async function askWorker<Answer>(
  client: Client,
  taskQueue: string,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await client.withDeadline(Date.now() + answerWithinMs, ask);
  } catch (error) {
    const code = grpcStatus(error)?.code;
    const unanswered = code === grpc.deadlineExceeded || code === grpc.failedPrecondition;
    // Temporal itself answers, so it was the worker that did not.
    if (unanswered && (await workerPolls(client, taskQueue)) !== null) throw noWorker(taskQueue);
    throw error;
  }
}

function noWorker(taskQueue: string): CliFailure {
  return new CliFailure({
    code: 'NoWorker',
    message: `no worker of the task queue ${taskQueue} answers`,
    hint: 'start one with `docferry worker` or `docferry up`',
    exitCode: exitCodes.failed,
  });
}
