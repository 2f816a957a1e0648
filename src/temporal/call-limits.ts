import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;
type CallOptions = Parameters<Interceptor>[0];
type Retries = Parameters<typeof makeGrpcRetryInterceptor>[0];
type Status = Parameters<Retries['retryableDecider']>[1];

export interface CallLimits {
  /** For one attempt of a call, in milliseconds. */
  attemptMs: number;
  /** For a call that Temporal holds until a workflow or worker has answered; it answers "not yet" itself after 20 s. */
  longPollMs: number;
}

const usualLimits: CallLimits = { attemptMs: 5_000, longPollMs: 70_000 };

/** Attempts of a call that is not answered in time. */
const attempts = 3;
/** `DEADLINE_EXCEEDED` and `RESOURCE_EXHAUSTED` of gRPC. */
const deadlineExceeded = 4;
const resourceExhausted = 8;

/** Calls that wait for a workflow or a worker. All but a query carry an id, or only read. */
const longPolls: ReadonlySet<string> = new Set([
  'ExecuteMultiOperation',
  'GetWorkflowExecutionHistory',
  'PollWorkflowExecutionUpdate',
  'QueryWorkflow',
  'UpdateWorkflowExecution',
]);

/** Calls that could act twice: triggers, backfills, pauses and signals. A request's id is forgotten when a run continues. */
const actOnce: ReadonlySet<string> = new Set([
  'PatchSchedule',
  'SignalWithStartWorkflowExecution',
  'SignalWorkflowExecution',
]);

/**
 * Gives every call to Temporal a deadline, because the server may leave one unanswered, and repeats those that only read
 * or that Temporal recognizes by their id. A deadline of the caller's (`client.withDeadline`) still ends all attempts.
 */
export function limitCalls({ attemptMs, longPollMs }: CallLimits = usualLimits): Interceptor {
  return (options, nextCall) => {
    const method = methodOf(options);
    const limitMs = longPolls.has(method) ? longPollMs : attemptMs;
    const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
    const repeat = makeGrpcRetryInterceptor({
      delayFunction,
      retryableDecider: (attempt, status) => {
        if (isOver(options.deadline)) return false;
        if (actOnce.has(method)) return neverSent(status) && retryableDecider(attempt, status);
        // A worker that has not answered a query may not be there at all.
        if (status.code === deadlineExceeded) return attempt < attempts && method !== 'QueryWorkflow';
        return retryableDecider(attempt, status);
      },
    });
    return repeat(options, (attempt) => nextCall({ ...attempt, deadline: sooner(attempt.deadline, limitMs) }));
  };
}

/** `DescribeSchedule` of `/temporal.api.workflowservice.v1.WorkflowService/DescribeSchedule`. */
function methodOf({ method_definition: { path } }: CallOptions): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The server has refused the call, or there was no connection to send it on. */
function neverSent({ code, details }: Status): boolean {
  return code === resourceExhausted || details.startsWith('No connection established');
}

function sooner(deadline: CallOptions['deadline'], ms: number): number {
  return Math.min(deadline === undefined ? Number.POSITIVE_INFINITY : Number(deadline), Date.now() + ms);
}

function isOver(deadline: CallOptions['deadline']): boolean {
  return deadline !== undefined && Number(deadline) <= Date.now();
}
