import type { Kysely, SelectQueryBuilder } from 'kysely';
import { countRows, openSnapshot, preferIndexes, storedEntries, within } from '../store/queries.ts';
import type { FeedbackDatabase, FeedbackTable } from '../store/tables.ts';
import type { FeedbackRecord, RecordFilter } from './feedback-record.ts';

type Db = Kysely<FeedbackDatabase>;
type Rows = SelectQueryBuilder<FeedbackDatabase, 'feedback', FeedbackTable>;

/** Rows in memory at a time: SQLite reads them in a few milliseconds. */
const rowsPerQuery = 500;

/**
 * The entries of a project by `created_at_utc`, then `id`; those without a date last. One snapshot, read page by page
 * after the last key, each page from the index `feedback_by_date`: memory and time per row stay the same however many
 * there are.
 */
export async function* entryRecords(db: Db, filter: RecordFilter): AsyncGenerator<FeedbackRecord, void, undefined> {
  const snapshot = await openSnapshot(db);
  try {
    await preferIndexes(snapshot);
    yield* pages(datedRows(snapshot, filter), (rows, last) =>
      rows.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at_utc', 'id'), '>', tuple(last.created_at_utc ?? '', last.id)),
      ),
    );
    if (filter.from !== undefined || filter.to !== undefined) return;
    yield* pages(undatedRows(snapshot, filter), (rows, last) => rows.where('id', '>', last.id));
  } finally {
    await snapshot.rollback().execute();
  }
}

/** How many entries pass the filter but for having no date. */
export async function countUndated(db: Db, filter: RecordFilter): Promise<number> {
  return await countRows(undatedRows(db, filter));
}

async function* pages(
  rows: Rows,
  after: (rows: Rows, last: FeedbackTable) => Rows,
): AsyncGenerator<FeedbackRecord, void, undefined> {
  let query = rows;
  for (;;) {
    const page = await query.limit(rowsPerQuery).execute();
    for (const row of page) yield recordOf(row);
    const last = page.at(-1);
    if (last === undefined || page.length < rowsPerQuery) return;
    query = after(rows, last);
  }
}

function datedRows(db: Db, filter: RecordFilter): Rows {
  return matching(db, filter)
    .where('created_at_utc', 'is not', null)
    .where(within('created_at_utc', filter.from, filter.to))
    .orderBy('created_at_utc')
    .orderBy('id');
}

function undatedRows(db: Db, filter: RecordFilter): Rows {
  // All are null, but only so does PostgreSQL see that the index has them in order.
  return matching(db, filter).where('created_at_utc', 'is', null).orderBy('created_at_utc').orderBy('id');
}

function matching(db: Db, { org, project, sources, statuses, includeDeleted }: RecordFilter): Rows {
  return storedEntries(db, { org, project })
    .selectAll()
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
