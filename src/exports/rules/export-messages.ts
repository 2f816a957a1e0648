/** Shapes of the messages to an export or a rollback, and of their inputs (X5). */

import { z } from 'zod/mini';
import { count, instant, jsonText, own, reader, text, writing } from '../../rules/messages.ts';
import { type ExportInput, type ExportPhase, exportPhases, type RollbackInput, runOutcomes } from './site-export.ts';

export const readPhase = reader<{ phase: ExportPhase }>(z.object({ phase: z.enum(exportPhases) }));

/** A person's answer. It names the version that the person looked at; without one, the refusal names the waiting one. */
export interface ApprovalAnswer {
  version?: string;
}
export interface RejectionAnswer extends ApprovalAnswer {
  reason: string;
}

export const readApproval = reader<ApprovalAnswer>(z.strictObject({ version: z.exactOptional(text()) }));

export const readRejection = reader<RejectionAnswer>(
  z.strictObject({
    reason: writing(),
    version: z.exactOptional(text()),
  }),
);

/** More paths than any site has pages. */
const mostPaths = 100_000;

const parameters = z.strictObject({
  siteVersion: z.exactOptional(writing()),
  paths: z.exactOptional(z.array(writing()).check(z.maxLength(mostPaths))),
  promote: z.exactOptional(z.boolean()),
  force: z.exactOptional(z.boolean()),
});

export const readExportInput = reader<ExportInput>(
  z.object({
    org: text(),
    domain: text(),
    parameters: z._default(parameters, {}),
    failover: own<ExportInput['failover']>(),
    carried: own<ExportInput['carried']>(),
    refused: own<ExportInput['refused']>(),
    awaited: own<ExportInput['awaited']>(),
  }),
);

export const readRollbackInput = reader<RollbackInput>(
  z.strictObject({
    org: text(),
    domain: text(),
    version: text(),
    // One started in the Temporal UI may give no reason.
    reason: z._default(z.nullable(writing()), null),
    who: z.exactOptional(writing()),
    failover: own<RollbackInput['failover']>(),
  }),
);

/** Input of `recordRun`. */
export const readRunRow = reader(
  z.object({
    workflowId: text(),
    runId: text(),
    org: text(),
    domain: text(),
    startedAt: instant(),
    finishedAt: instant(),
    outcome: z.enum(runOutcomes),
    jobId: z.nullable(writing()),
    jobsStarted: count(),
    version: z.nullable(writing()),
    contentDigest: z.nullable(writing()),
    polls: count(),
    detail: jsonText(),
    jobMs: z.nullable(count()),
  }),
);
