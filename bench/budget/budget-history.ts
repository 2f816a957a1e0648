import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import type { LeaseReport, PermitAnswer } from '../../src/budget/rules/permits.ts';
import { Ledger, type LedgerLease, type LedgerReport, type LedgerSettings } from './budget-ledger.ts';

type History = temporal.api.history.v1.IHistory;
type Payloads = temporal.api.common.v1.IPayloads | null | undefined;

// The types make a change of the messages show here.
const grantSchema: z.ZodType<Omit<Extract<PermitAnswer, { kind: 'granted' }>, 'arrivalMs' | 'forecast'>> = z.object({
  kind: z.literal('granted'),
  leaseId: z.string(),
  grantedAt: z.number(),
  useBy: z.number(),
  notBefore: z.array(z.number()),
});
const reportSchema: z.ZodType<Pick<LeaseReport, 'leaseId' | 'arrived'>> = z.object({
  leaseId: z.string(),
  arrived: z.array(z.number()),
});

/**
 * Reads all runs of one budget: answers to questions are results of updates, reports are signals. Throws an Error when
 * there is no grant in them.
 */
export function ledgerOf(histories: readonly History[], settings: LedgerSettings): Ledger {
  const leases: LedgerLease[] = [];
  const reports: LedgerReport[] = [];
  for (const event of histories.flatMap((history) => history.events ?? [])) {
    const answer = event.workflowExecutionUpdateCompletedEventAttributes?.outcome?.success;
    const grant = grantSchema.safeParse(firstOf(answer));
    if (grant.success) {
      const { leaseId, grantedAt, useBy, notBefore } = grant.data;
      leases.push({ id: leaseId, grantedAt, useBy, permits: notBefore.length });
    }
    const report = reportSchema.safeParse(firstOf(event.workflowExecutionSignaledEventAttributes?.input));
    if (report.success) reports.push({ ...report.data, at: timeOf(event) });
  }
  if (leases.length === 0) throw new Error('the history of the budget holds no grant');
  return new Ledger(leases, reports, settings);
}

/** Milliseconds since the epoch. Seconds are a Long from the server, and a number from a recorded history. */
function timeOf({ eventTime }: temporal.api.history.v1.IHistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1_000_000;
}

function firstOf(payloads: Payloads): unknown {
  const payload = payloads?.payloads?.[0];
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}
