import type { SelectQueryBuilder } from 'kysely';
import {
  bytesOfTexts,
  countRows,
  openSnapshot,
  preferIndexes,
  readRows,
  rowsPerStatement,
  type SizedKey,
  storedEntries,
  within,
} from '../store/queries.ts';
import type { Db, FeedbackDatabase, FeedbackTable } from '../store/tables.ts';
import type { FeedbackRecord, RecordFilter } from './feedback-record.ts';

type Key = SizedKey & Pick<FeedbackTable, 'created_at_utc'>;
type Keys = SelectQueryBuilder<FeedbackDatabase, 'feedback', Key>;

/**
 * The entries of a project by `created_at_utc`, then `id`; those without a date last. One snapshot, read page by page
 * after the last key, each page from the index `feedback_by_date`: memory and time per row stay the same for any number of
 * rows. On SQLite the store does nothing else until the iteration has ended: do not call it meanwhile.
 */
export async function* entryRecords(db: Db, filter: RecordFilter): AsyncGenerator<FeedbackRecord, void, undefined> {
  const snapshot = await openSnapshot(db);
  try {
    await preferIndexes(snapshot);
    yield* records(snapshot, dated(snapshot, filter), (keys, last) =>
      keys.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at_utc', 'id'), '>', tuple(last.created_at_utc ?? '', last.id)),
      ),
    );
    if (filter.from !== undefined || filter.to !== undefined) return;
    yield* records(snapshot, undated(snapshot, filter), (keys, last) => keys.where('id', '>', last.id));
  } finally {
    await snapshot.rollback().execute();
  }
}

/** How many entries pass the filter but for having no date. */
export async function countUndated(db: Db, filter: RecordFilter): Promise<number> {
  return await countRows(undated(db, filter));
}

async function* records(
  db: Db,
  all: Keys,
  after: (keys: Keys, last: Key) => Keys,
): AsyncGenerator<FeedbackRecord, void, undefined> {
  for (let query = all; ; ) {
    const keys = await query.limit(rowsPerStatement).execute();
    for await (const row of readRows(db, keys)) yield recordOf(row);
    const last = keys.at(-1);
    if (last === undefined || keys.length < rowsPerStatement) return;
    query = after(all, last);
  }
}

function dated(db: Db, filter: RecordFilter): Keys {
  return matching(db, filter)
    .where('created_at_utc', 'is not', null)
    .where(within('created_at_utc', filter.from, filter.to))
    .orderBy('created_at_utc')
    .orderBy('id');
}

function undated(db: Db, filter: RecordFilter): Keys {
  // All are null, but only so does PostgreSQL see that the index has them in order.
  return matching(db, filter).where('created_at_utc', 'is', null).orderBy('created_at_utc').orderBy('id');
}

function matching(db: Db, { org, project, sources, statuses, includeDeleted }: RecordFilter): Keys {
  return storedEntries(db, { org, project })
    .select(['project_id', 'id', 'created_at_utc', bytesOfTexts('feedback').as('bytes')])
    .$if(sources !== undefined, (rows) => rows.where('source', 'in', sources ?? []))
    .$if(statuses !== undefined, (rows) => rows.where('status', 'in', statuses ?? []))
    .$if(!includeDeleted, (rows) => rows.where('deleted_at', 'is', null));
}

/** A stored row as it is exported. */
export function recordOf(row: FeedbackTable): FeedbackRecord {
  return {
    ...row,
    helpful: row.helpful === null ? null : row.helpful === 1,
    extra: row.extra === null ? {} : (JSON.parse(row.extra) as Record<string, unknown>),
  };
}
