import type { DeedPlace } from '../../feedback/store/deed-records.ts';
import type { Deed } from '../../runs/rules/audit.ts';
import { type AuditQuery, auditFilter } from './audit-query.ts';
import type { Connections } from './connections.ts';

/** A page of the audit. */
export interface AuditFacts {
  /** Newest first. */
  deeds: Deed[];
  /** Where the next page begins; null when this is the last. */
  next: DeedPlace | null;
}

const shownDeeds = 50;

/** The same as `docferry audit` lists. */
export async function readAudit({ feedback }: Connections, query: AuditQuery): Promise<AuditFacts> {
  const deeds: Deed[] = [];
  for await (const deed of (await feedback()).listDeeds(auditFilter(query, Date.now()))) {
    const last = deeds.at(-1);
    if (deeds.length === shownDeeds && last) return { deeds, next: { at: last.at, deedId: last.deedId } };
    deeds.push(deed);
  }
  return { deeds, next: null };
}
