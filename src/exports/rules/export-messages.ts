/** Shapes of the messages to an export or a rollback, and of their inputs (X5). */

import {
  bool,
  instant,
  jsonText,
  list,
  nullable,
  number,
  oneOf,
  own,
  type Reader,
  record,
  strictRecord,
  text,
  writing,
} from '../../rules/messages.ts';
import { type ExportInput, type ExportPhase, exportPhases, type RollbackInput, runOutcomes } from './site-export.ts';

export const readPhase: Reader<{ phase: ExportPhase }> = record({ phase: oneOf(exportPhases) }, {});

/** A person's answer. It names the version that the person looked at; one without a version is told which one waits. */
export interface ApprovalAnswer {
  version?: string;
}
export interface RejectionAnswer extends ApprovalAnswer {
  reason: string;
}

export const readApproval: Reader<ApprovalAnswer> = strictRecord({}, { version: text });

export const readRejection: Reader<RejectionAnswer> = strictRecord({ reason: writing }, { version: text });

/** More paths than any site has pages. */
const mostPaths = 100_000;

export const readExportInput: Reader<ExportInput> = record(
  {
    org: text,
    domain: text,
    parameters: strictRecord({}, { siteVersion: writing, paths: list(writing, mostPaths), promote: bool, force: bool }),
  },
  {
    failover: own<ExportInput['failover']>(),
    carried: own<ExportInput['carried']>(),
    refused: own<ExportInput['refused']>(),
  },
);

/** One started in the Temporal UI may give no reason. */
const reason: Reader<string | null> = (value = null, field) => nullable(writing)(value, field);

export const readRollbackInput: Reader<RollbackInput> = strictRecord(
  { org: text, domain: text, version: text, reason },
  { who: writing, failover: own<RollbackInput['failover']>() },
);

const count = number(0, Number.MAX_SAFE_INTEGER);

/** Shape of the input of `recordRun`. */
export const readRunRow = record(
  {
    workflowId: text,
    runId: text,
    org: text,
    domain: text,
    startedAt: instant,
    finishedAt: instant,
    outcome: oneOf(runOutcomes),
    jobId: nullable(writing),
    jobsStarted: count,
    version: nullable(writing),
    contentDigest: nullable(writing),
    polls: count,
    detail: jsonText,
    jobMs: nullable(count),
  },
  {},
);
