import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { ContinueAsNew, proxySinks, type WorkflowInterceptorsFactory, workflowInfo } from '@temporalio/workflow';
import {
  type EndedRun,
  readTraceParent,
  spanOfRun,
  type TraceSinks,
  traceHeader,
  writeTraceParent,
} from '../temporal/rules/traces.ts';

declare global {
  /** Whether the worker writes traces. */
  var docferryTraces: boolean | undefined;
}

/** Hands a trace on to steps and children. Nothing becomes a command: a history replays with and without it. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  if (!globalThis.docferryTraces) return { inbound: [], outbound: [] };
  const { traces } = proxySinks<TraceSinks>();
  let [ofStarter, ofRun]: [Headers, Headers] = [{}, {}];
  const handOn = <Input extends { headers: Headers }, Result>(input: Input, next: (input: Input) => Result) =>
    next({ ...input, headers: { ...input.headers, ...ofRun } });
  return {
    inbound: [
      {
        execute(input, next) {
          const { [traceHeader]: given } = input.headers;
          const starter = given ? readTraceParent(defaultPayloadConverter.fromPayload(given)) : null;
          const span = spanOfRun(workflowInfo().runId, starter);
          if (given && starter) ofStarter = { [traceHeader]: given };
          ofRun = { [traceHeader]: defaultPayloadConverter.toPayload(writeTraceParent(span)) };
          const startedAt = Date.now();
          const tell = (outcome: EndedRun['outcome']) =>
            traces.ended({ starter, startedAt, endedAt: Date.now(), outcome });
          const ending = next(input);
          ending.then(
            () => tell('completed'),
            (error) => tell(error instanceof ContinueAsNew ? 'continued' : 'failed'),
          );
          return ending;
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: handOn,
        scheduleLocalActivity: handOn,
        startChildWorkflowExecution: handOn,
        continueAsNew: (input, next) => next({ ...input, headers: { ...input.headers, ...ofStarter } }),
      },
    ],
  };
};
