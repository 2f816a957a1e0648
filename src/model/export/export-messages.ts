/** Shapes of the messages to an export (X5). */

import { nullable, number, oneOf, type Reader, record, text, writing } from '../message-readers.ts';
import { type ExportPhase, exportPhases } from './site-export.ts';
import type { Transfer } from './transfer.ts';

const mostBytes = Number.MAX_SAFE_INTEGER;

export const readPhase: Reader<{ phase: ExportPhase }> = record({ phase: oneOf(exportPhases) }, {});

export const readTransfer: Reader<Transfer> = record(
  {
    offset: number(0, mostBytes),
    total: nullable(number(0, mostBytes)),
    bytesPerSecond: nullable(number(0, mostBytes)),
    at: number(0, 4_102_444_800_000),
  },
  {},
);

/** A person's answer. Naming the version makes sure that it is the one they looked at. */
export interface ApprovalAnswer {
  version?: string;
}
export interface RejectionAnswer extends ApprovalAnswer {
  reason: string;
}

export const readApproval: Reader<ApprovalAnswer> = record({}, { version: text });

export const readRejection: Reader<RejectionAnswer> = record({ reason: writing }, { version: text });
