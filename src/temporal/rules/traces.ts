/** The header of Temporal's messages in which a trace goes on, as `traceparent` of W3C: `00-<trace id>-<span id>-<flags>`. */
export const traceHeader = 'traceparent';

/** A span to which others belong; its ids in hexadecimal digits. */
export interface TraceParent {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

const written = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Null for anything but a `traceparent`. */
export function readTraceParent(text: unknown): TraceParent | null {
  const [, traceId, spanId, flags] = (typeof text === 'string' && written.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

export function writeTraceParent({ traceId, spanId, traceFlags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Ids follow from the run's, so that a replay has the same; a run that no trace has started begins one. */
export function spanOfRun(runId: string, starter: TraceParent | null): TraceParent {
  const digits = runId.replaceAll('-', '');
  return { traceId: starter?.traceId ?? digits, spanId: digits.slice(16), traceFlags: starter?.traceFlags ?? 1 };
}

/** What a workflow tells its worker of a run that has ended: times in milliseconds. */
export interface EndedRun {
  starter: TraceParent | null;
  startedAt: number;
  endedAt: number;
  outcome: 'completed' | 'continued' | 'failed';
}

export type TraceSinks = { traces: { ended(run: EndedRun): void } };
