import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attributes, Span } from '@opentelemetry/api';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { ApplicationFailure, defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import {
  readTraceParent,
  spanOfRun,
  type TraceParent,
  type TraceSinks,
  traceHeader,
  writeTraceParent,
} from './rules/traces.ts';

/*
 * Spans of what docferry does: names, ids, outcomes and types of errors, never an argument, message, address or text (X1).
 */

interface NewSpan {
  /** Null for a trace of its own. */
  parent: TraceParent | null;
  attributes: Attributes;
  /** Of a span that has its ids already, with the time it began, in milliseconds. */
  ids?: TraceParent;
  startTime?: number;
}

interface Tracing {
  begin(name: string, span: NewSpan): Span;
  end(): Promise<void>;
}

let tracing: Tracing | null = null;
const current = new AsyncLocalStorage<Span>();

/** Whether this process writes traces. */
export const isTracing = (): boolean => tracing !== null;

/** `ERROR` among OpenTelemetry's states. */
const failed = 2;
/** A collector that does not answer delays the end of a command no longer. */
const flushWithinMs = 2_000;

/** From now on this process sends spans to the collector that OpenTelemetry's own variables name. */
export async function startTraces(): Promise<void> {
  const [{ ROOT_CONTEXT, trace }, sdk, resources, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  const random = new sdk.RandomIdGenerator();
  let ids: TraceParent | undefined;
  const provider = new sdk.TracerProvider({
    resource: resources
      .defaultResource()
      .merge(resources.resourceFromAttributes({ 'service.name': 'docferry' }))
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    idGenerator: {
      generateTraceId: () => ids?.traceId ?? random.generateTraceId(),
      generateSpanId: () => ids?.spanId ?? random.generateSpanId(),
    },
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const tracer = provider.getTracer('docferry');
  tracing = {
    begin(name, { parent, ids: given, ...options }) {
      ids = given;
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
      const span = tracer.startSpan(name, options, context);
      ids = undefined;
      return span;
    },
    end: () => provider.shutdown(),
  };
}

/** Sends what is left, for two seconds at most. */
export async function endTraces(): Promise<void> {
  const ended = tracing?.end().catch(() => {});
  tracing = null;
  await Promise.race([ended, sleep(flushWithinMs, undefined, { ref: false })]);
}

interface SpanSettings {
  attributes?: Attributes;
  /** The current span by default; null for a trace of its own. */
  parent?: TraceParent | null;
}

/** Does `work` within a span, to which `work` may add; without traces it only does `work`. */
export async function traced<Result>(
  name: string,
  { attributes = {}, parent = current.getStore()?.spanContext() ?? null }: SpanSettings,
  work: (add: (attributes: Attributes) => void) => Promise<Result>,
): Promise<Result> {
  if (tracing === null) return work(() => {});
  const span = tracing.begin(name, { parent, attributes });
  try {
    return await current.run(span, () => work((more) => span.setAttributes(more)));
  } catch (error) {
    span.setStatus({ code: failed });
    span.setAttribute('error.type', typeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

function typeOf(error: unknown): string {
  if (error instanceof ApplicationFailure && error.type) return error.type;
  return error instanceof Error ? error.name : 'unknown';
}

/** The headers of a message, with the current trace. */
function withTrace(headers: Headers): Headers {
  const span = current.getStore();
  if (span === undefined) return headers;
  return { ...headers, [traceHeader]: defaultPayloadConverter.toPayload(writeTraceParent(span.spanContext())) };
}

const workflow = (workflowId: string) => ({ attributes: { temporalWorkflowID: workflowId } });

/** Spans of what a client asks of workflows, named as Temporal's SDKs name them. What it starts continues the trace. */
export const clientTraces: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    traced(`StartWorkflow:${input.workflowType}`, workflow(input.options.workflowId), () =>
      next({ ...input, headers: withTrace(input.headers) }),
    ),
  startUpdate: (input, next) =>
    traced(`StartWorkflowUpdate:${input.updateName}`, workflow(input.workflowExecution.workflowId), () => next(input)),
  // What this starts outlives the trace: a budget never ends.
  startUpdateWithStart: (input, next) =>
    traced(`UpdateWithStartWorkflow:${input.updateName}`, workflow(input.workflowStartOptions.workflowId), () =>
      next(input),
    ),
  signal: (input, next) =>
    traced(`SignalWorkflow:${input.signalName}`, workflow(input.workflowExecution.workflowId), () => next(input)),
  signalWithStart: (input, next) =>
    traced(`SignalWithStartWorkflow:${input.signalName}`, workflow(input.options.workflowId), () => next(input)),
};

/** A span of each attempt of an activity, below that of its run. */
export const activityTraces: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute(input, next) {
      const given = input.headers[traceHeader];
      const parent = given ? readTraceParent(defaultPayloadConverter.fromPayload(given)) : null;
      const attributes = {
        temporalWorkflowID: info.workflowExecution?.workflowId,
        temporalRunID: info.workflowExecution?.runId,
        temporalActivityID: info.activityId,
        'docferry.attempt': info.attempt,
      };
      return traced(`RunActivity:${info.activityType}`, { parent, attributes }, () => next(input));
    },
  },
});

/** The spans of runs, when they end. */
export const workflowTraces: InjectedSinks<TraceSinks> = {
  traces: {
    ended: {
      fn({ workflowType, workflowId, runId }, { starter, startedAt, endedAt, outcome }) {
        const span = tracing?.begin(`RunWorkflow:${workflowType}`, {
          parent: starter,
          ids: spanOfRun(runId, starter),
          startTime: startedAt,
          attributes: { temporalWorkflowID: workflowId, temporalRunID: runId, 'docferry.outcome': outcome },
        });
        if (outcome === 'failed') span?.setStatus({ code: failed });
        span?.end(endedAt);
      },
    },
  },
};
