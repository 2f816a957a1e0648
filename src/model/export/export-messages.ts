/** Shapes of the messages to an export (X5). */

import { oneOf, type Reader, record, text, writing } from '../message-readers.ts';
import { type ExportPhase, exportPhases } from './site-export.ts';

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
