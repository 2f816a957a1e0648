import { type Kysely, sql } from 'kysely';
import { closedStatuses, openStatuses } from '../rules/feedback-values.ts';
import { type DatedList, edgesOf, type Target } from '../rules/plan-slices.ts';
import { batchesOf } from '../store/batches.ts';
import { countRows, liveEntries, type ProjectKey } from '../store/stored-entries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';

type Db = Kysely<FeedbackDatabase>;

/** Which entries are missing, and of which list they have their places. */
export interface MissingQuestion extends ProjectKey {
  /** The start of the pass: entries last seen before it are missing. */
  unseenSince: string;
  /** Only those stored as open. */
  open: boolean;
  /** The list: the closed entries and the missing ones, or all. */
  among: 'closed' | 'all';
}

/**
 * The dated entries that no reading since has seen, by date, each with its place in the list that windows of `lookFor`
 * would read, and the moments at those windows' edges. Only moments and places are in memory.
 */
export async function missingEntries(
  db: Db,
  question: MissingQuestion,
): Promise<{ targets: Target[]; list: DatedList }> {
  // Places are worked out only where something is missing: that takes the whole list.
  const missing = liveEntries(db, question)
    .where('created_at_utc', 'is not', null)
    .where('last_seen_at', '<', question.unseenSince)
    .$if(question.open, (query) => query.where('status', 'in', openStatuses));
  if ((await countRows(missing)) === 0)
    return { targets: [], list: { total: 0, momentAt: (place) => momentOf(new Map(), place) } };
  const rows = await ranked(db, question)
    .where('last_seen_at', '<', question.unseenSince)
    .$if(question.open, (query) => query.where('status', 'in', openStatuses))
    .orderBy('place')
    .execute();
  const targets = rows.map(({ created_at_utc, place }) => ({ at: created_at_utc ?? '', place: Number(place) - 1 }));
  const { total } = await ranked(db, question)
    .clearSelect()
    .select((row) => row.fn.countAll().as('total'))
    .executeTakeFirstOrThrow();
  const moments = new Map<number, string>();
  const places = [...new Set(edgesOf(targets, Number(total)))];
  for (const batch of batchesOf(places.map((place) => place + 1))) {
    const edges = await ranked(db, question).where('place', 'in', batch).execute();
    for (const { created_at_utc, place } of edges) moments.set(Number(place) - 1, created_at_utc ?? '');
  }
  return { targets, list: { total: Number(total), momentAt: (place) => momentOf(moments, place) } };
}

function ranked(db: Db, question: MissingQuestion) {
  const { unseenSince, open, among } = question;
  const list = liveEntries(db, question)
    .select([
      'created_at_utc',
      'status',
      'last_seen_at',
      sql<number | string>`row_number() over (order by created_at_utc, id)`.as('place'),
    ])
    .where('created_at_utc', 'is not', null)
    .$if(among === 'closed', (query) =>
      query.where((row) =>
        row.or([
          row('status', 'in', closedStatuses),
          row.and([row('last_seen_at', '<', unseenSince), ...(open ? [row('status', 'in', openStatuses)] : [])]),
        ]),
      ),
    );
  return db.selectFrom(list.as('list')).select(['created_at_utc', 'place']);
}

function momentOf(moments: ReadonlyMap<number, string>, place: number): string {
  const found = moments.get(place);
  if (found === undefined) throw new Error(`no entry at place ${place}`);
  return found;
}
