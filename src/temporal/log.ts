import type { Logger as TemporalLogger } from '@temporalio/worker';
import { type DestinationStream, type Level, type Logger, pino } from 'pino';

interface WorkflowSubject {
  org?: string;
  domain?: string;
  project?: string;
}

/** Which part of an id comes after the organization. */
const partAfterOrg: Readonly<Record<string, 'domain' | 'project' | null>> = {
  export: 'domain',
  record: 'domain',
  sync: 'project',
  refresh: null,
  budget: null,
  check: null,
  webhook: null,
  watch: null,
  audit: null,
};

/** Read from the workflow's id (`workflow-ids.ts`); empty for an id of other programs. */
export function subjectOfWorkflow(workflowId: string): WorkflowSubject {
  // A scheduled run has the name of the workflow it starts, with a time that Temporal appends to what a schedule starts.
  const [, target = workflowId] = /^(?:scheduled:)?(.+?)(?:-\d{4}-\d\d-\d\dT[\d:.]+Z)?$/.exec(workflowId) ?? [];
  const [kind = '', org, what] = target.split(':');
  const part = Object.hasOwn(partAfterOrg, kind) ? partAfterOrg[kind] : undefined;
  if (part === undefined || !org) return {};
  return part === null || !what ? { org } : { org, [part]: what };
}

/** JSON lines. Of errors only name and message: anything deeper may hold requests, links or content (X1). */
export function createLog(destination: DestinationStream, level: Level = 'info'): Logger {
  const error = (value: unknown) => (value instanceof Error ? { name: value.name, message: value.message } : value);
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: error, error } },
    destination,
  );
}

export type LogPlace = { file: string } | { stderr: true };

/** Lines that wait in memory for room on a full disk, in bytes; more are lost. */
const mostWaiting = 1024 ** 2;

/** A file, whose folder is made, or stderr. A full disk ends no worker: lines wait for room, then they are lost. */
export function logDestination(place: LogPlace): DestinationStream {
  const where = 'file' in place ? { dest: place.file, mkdir: true } : { dest: 2 };
  const destination = pino.destination({ ...where, sync: true, maxLength: mostWaiting });
  destination.on('error', () => {});
  return destination;
}

/** The same log for lines of runs, which come through Temporal, and for Temporal's own. */
export function temporalLogger(log: Logger): TemporalLogger {
  const write = (level: Level) => (message: string, meta?: object) => log[level](fieldsOf({ ...meta }), message);
  const lines = {
    trace: write('trace'),
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  const byName = { TRACE: lines.trace, DEBUG: lines.debug, INFO: lines.info, WARN: lines.warn, ERROR: lines.error };
  return { ...lines, log: (level, message, meta) => byName[level](message, meta) };
}

/** Names a line's run, and what it works on, alike whichever part of the SDK has written the line. */
function fieldsOf({ workflowRunId, run_id, workflow_id, taskToken: _taskToken, ...fields }: Record<string, unknown>) {
  const workflowId = fields.workflowId ?? workflow_id;
  const runId = fields.runId ?? workflowRunId ?? run_id;
  return {
    ...fields,
    ...(typeof workflowId === 'string' && { workflowId, ...subjectOfWorkflow(workflowId) }),
    ...(typeof runId === 'string' && { runId }),
  };
}
