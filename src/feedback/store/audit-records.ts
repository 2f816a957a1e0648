import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { AuditAction, AuditEntry } from '../../runs/rules/audit.ts';
import { storedText, storedTextOrNull } from '../rules/feedback-entry.ts';
import { batchesOf, isPostgres, matching, rowsPerStatement } from './queries.ts';
import { columnsOf, type Db, type FeedbackDatabase, fieldsOf, type Trx } from './tables.ts';

/** The audit of an existing store, opened for nothing else. */
export interface OpenAudit {
  /** Inserts audit entries; those that are there already stay as they are. */
  recordAuditEntries(auditEntries: readonly AuditEntry[]): Promise<void>;
  close(): Promise<void>;
}

/** Which audit entries to list; all without a field. */
export interface AuditFilter {
  /** From this moment on, UTC ISO 8601. */
  since?: string | undefined;
  org?: string | undefined;
  action?: AuditAction | undefined;
  /** A domain or project. */
  subject?: string | undefined;
  /** Part of the name of a site or project; the case of ASCII letters does not matter. */
  named?: string | undefined;
  /** A part of the name of the person, likewise. */
  who?: string | undefined;
  /** Only entries that come after this one in the list. */
  after?: AuditPlace | undefined;
}

export type AuditPlace = Pick<AuditEntry, 'at' | 'entryId'>;

/** Inserts audit entries; those that are there already stay as they are, so that a step may run twice. */
export async function recordAuditEntries(db: Trx, auditEntries: readonly AuditEntry[]): Promise<void> {
  for (const batch of batchesOf(auditEntries)) {
    await db
      .insertInto('audit')
      .values(batch.map(rowOf))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Newest first, read as the caller asks for them. */
export async function* listAuditEntries(
  db: Db,
  { since, org, action, subject, named, who, after }: AuditFilter,
): AsyncGenerator<AuditEntry, void, undefined> {
  let last: AuditPlace | undefined = after;
  do {
    const rows: Selectable<FeedbackDatabase['audit']>[] = await db
      .selectFrom('audit')
      .selectAll()
      .$if(since !== undefined, (query) => query.where('at', '>=', since ?? ''))
      .where(matching({ org_id: org && storedText(org), action, subject: subject && storedText(subject) }))
      .$if(named !== undefined, (query) => query.where(contains(db, 'subject', named)))
      .$if(who !== undefined, (query) => query.where(contains(db, 'who', who)))
      .$if(last !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('at', 'entry_id'), '<', tuple(last?.at ?? '', storedText(last?.entryId ?? ''))),
        ),
      )
      .orderBy('at', 'desc')
      .orderBy('entry_id', 'desc')
      .limit(rowsPerStatement)
      .execute();
    const auditEntries = rows.map(auditOf);
    yield* auditEntries;
    last = auditEntries.length < rowsPerStatement ? undefined : auditEntries.at(-1);
  } while (last !== undefined);
}

function contains(db: Db, column: 'subject' | 'who', part = ''): RawBuilder<SqlBool> {
  const pattern = `%${storedText(part).replaceAll(/[\\%_]/g, '\\$&')}%`;
  return sql<SqlBool>`${sql.ref(column)} ${sql.raw(isPostgres(db) ? 'ilike' : 'like')} ${pattern} escape '\\'`;
}

function rowOf({ org, ...entry }: AuditEntry): FeedbackDatabase['audit'] {
  return {
    ...columnsOf(entry),
    entry_id: storedText(entry.entryId),
    org_id: org,
    who: storedText(entry.who),
    reason: storedTextOrNull(entry.reason),
    detail: storedText(entry.detail),
  };
}

function auditOf(row: Selectable<FeedbackDatabase['audit']>): AuditEntry {
  const { orgId: org, ...entry } = fieldsOf(row);
  return { ...entry, org };
}
