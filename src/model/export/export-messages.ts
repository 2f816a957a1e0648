/** Shapes of the messages to an export or a rollback, and of their inputs (X5). */

import { bool, list, nullable, oneOf, own, type Reader, record, text, writing } from '../message-readers.ts';
import { type ExportInput, type ExportPhase, exportPhases, type RollbackInput } from './site-export.ts';

export const readPhase: Reader<{ phase: ExportPhase }> = record({ phase: oneOf(exportPhases) }, {});

/** A person's answer. Naming the version makes sure that it is the one they looked at. */
export interface ApprovalAnswer {
  version?: string;
}
export interface RejectionAnswer extends ApprovalAnswer {
  reason: string;
}

export const readApproval: Reader<ApprovalAnswer> = record({}, { version: text });

export const readRejection: Reader<RejectionAnswer> = record({ reason: writing }, { version: text });

/** More paths than any site has pages. */
const mostPaths = 100_000;

export const readExportInput: Reader<ExportInput> = record(
  {
    org: text,
    domain: text,
    parameters: record({}, { siteVersion: writing, paths: list(writing, mostPaths), promote: bool, force: bool }),
  },
  {
    handover: own<ExportInput['handover']>(),
    carried: own<ExportInput['carried']>(),
    refused: own<ExportInput['refused']>(),
  },
);

/** One started in the Temporal UI may give no reason. */
const reason: Reader<string | null> = (value = null, field) => nullable(writing)(value, field);

export const readRollbackInput: Reader<RollbackInput> = record(
  { org: text, domain: text, version: text, reason },
  { who: writing, handover: own<RollbackInput['handover']>() },
);
