import { type Kysely, type RawBuilder, type Selectable, type SqlBool, sql, type Transaction } from 'kysely';
import type { Deed, DeedAction } from '../../runs/rules/audit.ts';
import { batchesOf, isPostgres, rowsPerStatement } from './queries.ts';
import { type AuditTable, columnsOf, type FeedbackDatabase, fieldsOf, storedText, storedTextOrNull } from './tables.ts';

/** What people did by hand, which outlives Temporal's retention. It shares the database with the feedback, no more. */
export interface DeedRecords {
  /** Inserts deeds; those that are there already stay as they are. */
  recordDeeds(deeds: readonly Deed[]): Promise<void>;
  /** Newest first. */
  listDeeds(filter: DeedFilter): AsyncIterable<Deed>;
}

/** The audit of a store that is there, opened for nothing else. */
export interface OpenAudit extends Pick<DeedRecords, 'recordDeeds'> {
  close(): Promise<void>;
}

/** Which deeds; all of them without any of these. */
export interface DeedFilter {
  /** From this moment on, UTC ISO 8601. */
  since?: string | undefined;
  org?: string | undefined;
  action?: DeedAction | undefined;
  /** A domain or project. */
  subject?: string | undefined;
  /** A part of the name of a site or project, whatever the case of its ASCII letters. */
  named?: string | undefined;
  /** A part of the name of the person, likewise. */
  who?: string | undefined;
  /** Only what comes after this deed in the list. */
  after?: DeedPlace | undefined;
}

/** The place of a deed in the list. */
export type DeedPlace = Pick<Deed, 'at' | 'deedId'>;

/** Inserts deeds; those that are there already stay as they are, so that a step may run twice. */
export async function recordDeeds(db: Transaction<FeedbackDatabase>, deeds: readonly Deed[]): Promise<void> {
  for (const batch of batchesOf(deeds)) {
    await db
      .insertInto('audit')
      .values(batch.map(rowOf))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Newest first, read as they are wanted. */
export async function* listDeeds(
  db: Kysely<FeedbackDatabase>,
  { since, org, action, subject, named, who, after }: DeedFilter,
): AsyncGenerator<Deed, void, undefined> {
  let last: DeedPlace | undefined = after;
  do {
    const rows: Selectable<AuditTable>[] = await db
      .selectFrom('audit')
      .selectAll()
      .$if(since !== undefined, (query) => query.where('at', '>=', since ?? ''))
      .$if(org !== undefined, (query) => query.where('org_id', '=', storedText(org ?? '')))
      .$if(action !== undefined, (query) => query.where('action', '=', action ?? 'approve'))
      .$if(subject !== undefined, (query) => query.where('subject', '=', storedText(subject ?? '')))
      .$if(named !== undefined, (query) => query.where(contains(db, 'subject', named)))
      .$if(who !== undefined, (query) => query.where(contains(db, 'who', who)))
      .$if(last !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('at', 'deed_id'), '<', tuple(last?.at ?? '', storedText(last?.deedId ?? ''))),
        ),
      )
      .orderBy('at', 'desc')
      .orderBy('deed_id', 'desc')
      .limit(rowsPerStatement)
      .execute();
    const deeds = rows.map(deedOf);
    yield* deeds;
    last = deeds.length < rowsPerStatement ? undefined : deeds.at(-1);
  } while (last !== undefined);
}

function contains(db: Kysely<FeedbackDatabase>, column: 'subject' | 'who', part = ''): RawBuilder<SqlBool> {
  const pattern = `%${storedText(part).replaceAll(/[\\%_]/g, '\\$&')}%`;
  return sql<SqlBool>`${sql.ref(column)} ${sql.raw(isPostgres(db) ? 'ilike' : 'like')} ${pattern} escape '\\'`;
}

function rowOf({ org, ...deed }: Deed): AuditTable {
  return {
    ...columnsOf(deed),
    deed_id: storedText(deed.deedId),
    org_id: org,
    who: storedText(deed.who),
    reason: storedTextOrNull(deed.reason),
    detail: storedText(deed.detail),
  };
}

function deedOf(row: Selectable<AuditTable>): Deed {
  const { orgId: org, ...deed } = fieldsOf(row);
  return { ...deed, org };
}
