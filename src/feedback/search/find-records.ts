import type { Kysely } from 'kysely';
import { rowsPerStatement } from '../store/batches.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import type { FeedbackRecord } from '../files/feedback-record.ts';
import { recordOf } from '../files/stored-records.ts';
import type { EntrySelection } from './feedback-search.ts';
import { rowsOfHits, wantedOf } from './find-entries.ts';
import { nextHits } from './hits.ts';

/** All hits as records, read page by page. */
export async function* findRecords(
  db: Kysely<FeedbackDatabase>,
  selection: EntrySelection & { contacts?: boolean },
): AsyncGenerator<FeedbackRecord, void, undefined> {
  const wanted = wantedOf(selection);
  for (let below: number | null = null; ; ) {
    const hits = await nextHits(db, wanted, below, rowsPerStatement);
    for (const row of await rowsOfHits(db, hits)) {
      const record = recordOf(row);
      yield selection.contacts === true ? record : { ...record, contact: null, extra: {} };
    }
    const last = hits.at(-1);
    if (last === undefined || hits.length < rowsPerStatement) return;
    below = last.place;
  }
}
