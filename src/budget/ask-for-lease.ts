import { randomUUID } from 'node:crypto';
import type { LeaseReport, PermitAnswer, PermitAsk } from './rules/permits.ts';
import { instant, Lease } from './lease.ts';

/** The organization's budget as a sender of requests sees it; `BudgetClient` implements it with a Temporal client. */
export interface PermitSource {
  ask(org: string, question: PermitAsk): Promise<PermitAnswer>;
  report(org: string, result: LeaseReport): Promise<void>;
}

/**
 * Asks for permits; waiting is a normal answer. Every question gets a new random id (budget.md): a repeated id would be
 * answered with an old lease whose slots may be free by now. Attempt numbers would repeat: they start over when an
 * operator resets an activity.
 */
export async function askForLease(
  permits: PermitSource,
  org: string,
  asked: Omit<PermitAsk, 'id'>,
): Promise<Lease | Exclude<PermitAnswer, { kind: 'granted' }>> {
  const askedAt = instant();
  const answer = await askOnce(permits, org, { ...asked, id: randomUUID() });
  return answer.kind === 'granted' ? new Lease(answer, askedAt, instant()) : answer;
}

/** A lost answer may be a lease: it is returned unused, so that it does not occupy slots until it ends. */
async function askOnce(permits: PermitSource, org: string, question: PermitAsk): Promise<PermitAnswer> {
  try {
    return await permits.ask(org, question);
  } catch (error) {
    await permits.report(org, { leaseId: question.id, arrived: [] }).catch(() => {});
    throw error;
  }
}
