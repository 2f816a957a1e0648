/** What people do by hand and the audit keeps (audit.md). */
export const auditActions = [
  'approve',
  'reject',
  'rollback',
  'hold',
  'release',
  'budget-set',
  'budget-reset',
  'budget-pause',
  'budget-resume',
  'budget-configure',
  'erase',
  'start-export',
  'cancel-export',
  'start-pass',
  'cancel-pass',
  'poll-now',
  'schedule-pause',
  'schedule-resume',
  'schedule-trigger',
  'schedule-backfill',
  'end-sessions',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** Something a person did, as the table `audit` keeps it. */
export interface AuditEntry {
  /** Of an update `<run id>/<update id>`, see `OwnAuditEntry` for others: the same audit entry written again changes nothing. */
  entryId: string;
  /** When it took effect, UTC ISO 8601. */
  at: string;
  action: AuditAction;
  /** Null: everything in the store. */
  org: string | null;
  /** A domain or project, or the login whose sessions were ended; null for the whole organization. */
  subject: string | null;
  who: string;
  /** In a person's words; null when not given. */
  reason: string | null;
  /** JSON text: version, limits or counts, nothing personal. */
  detail: string;
  /** Of the workflow that the audit entry reached; null where there was none. */
  workflowId: string | null;
}

/** Who acts and why, by the actor's word, unchecked. */
export interface Actor {
  who?: string;
  reason?: string | null;
}

/** Stands for an actor that gave no name. */
export const unnamedActor = 'Temporal UI or other client';

/** Stands for a person who signed in to the console by the link that the terminal printed. */
export const terminalName = 'terminal';

/** Whether the audit would confuse a person of this login with an actor that docferry names itself. */
export function isReservedName(login: string): boolean {
  const plain = (name: string) => name.normalize('NFKC').trim().toLowerCase();
  return [terminalName, unnamedActor].some((name) => plain(name) === plain(login));
}

/** Longest name of an actor, in characters. */
export const longestName = 100;
export const actorName = /^[^\p{Cc}\p{Cs}]{1,100}$/u;
