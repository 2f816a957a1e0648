import { setImmediate as letOthersRun } from 'node:timers/promises';
import { type ExpressionBuilder, sql } from 'kysely';
import { sameInIndex, upsertRows } from '../search/entry-index.ts';
import { batchesOf, type EntryKeys, entriesAfter, isPostgres, lockProject, nextRows } from '../store/queries.ts';
import type { Db, FeedbackDatabase, Trx } from '../store/tables.ts';
import { hashLength, hashPrefix, namesOnlyPrefix, PersonalData } from './personal-data.ts';
import { isRestricted, keepsAll, type Privacy, type PrivacyChanges, retentionStart, storeKey } from './privacy.ts';

/*
 * Scrubbing SQLite's index after every entry would make treating 50,000 entries take seven times as long. So a worker that
 * applies settings to a whole store marks words as removed, and scrubs them once all entries are treated. Meanwhile
 * `secure-delete` of the index is off: if the worker is killed, the next one sees that and scrubs.
 */

/** From now on SQLite's index keeps removed words until `rewriteFile`. */
async function leaveWords(trx: Trx): Promise<void> {
  if (isPostgres(trx)) return;
  await sql`insert into search_words (search_words, rank) values ('secure-delete', 0)`.execute(trx);
}

/** Whether a worker was killed before it scrubbed the words it had removed. */
export async function areWordsLeft(db: Db): Promise<boolean> {
  if (isPostgres(db)) return false;
  const { rows } = await sql`select 1 from search_words_config where k = 'secure-delete' and v = 0`.execute(db);
  return rows.length > 0;
}

type Where = ExpressionBuilder<FeedbackDatabase, 'feedback'>;

/** Runs work in a transaction that writes. */
type Write = <T>(work: (trx: Trx) => Promise<T>) => Promise<T>;

interface Treating {
  privacy: Privacy;
  at: Date;
  /** The index may keep removed words until all entries are treated (`leaveWords`). */
  leavesWords: boolean;
}

/**
 * Removes everything stored that `privacy` does not allow, in small transactions: safe to repeat and to interrupt;
 * words may be left in the index. What was dropped cannot come back, and what was hashed under another key stays until
 * the next sweep.
 */
export async function applyPrivacy(db: Db, write: Write, privacy: Privacy, at: Date): Promise<PrivacyChanges> {
  const treated = { entries: 0, rejects: 0 };
  if (keepsAll(privacy)) return treated;
  for (const project of await projectsWithData(db)) {
    const treating = { privacy, at, leavesWords: true };
    if (isRestricted(privacy)) {
      treated.entries += await inTransactions(write, project, (trx, after) => {
        const keys = entriesAfter(trx, project, after).where(isPlain(privacy)).orderBy('id');
        return treatEntries(trx, keys, personalBy(treating), treating);
      });
    }
    const old = await treatOld(write, project, treating);
    treated.entries += old.entries;
    treated.rejects += old.rejects;
  }
  return treated;
}

/**
 * Removes entries and contacts of these projects that have become too old. Most projects have none: a few queries for
 * hundreds of them say which have, since transactions for each of a thousand would take longer than a step of a run may.
 */
export async function expire(
  db: Db,
  write: Write,
  projects: readonly string[],
  privacy: Privacy,
  at: Date,
): Promise<PrivacyChanges> {
  const treated = { entries: 0, rejects: 0 };
  if (keepsAll(privacy)) return treated;
  for (const project of await projectsToTreat(db, projects, privacy, at)) {
    const { entries, rejects } = await treatOld(write, project, { privacy, at, leavesWords: false });
    treated.entries += entries;
    treated.rejects += rejects;
  }
  return treated;
}

/** The projects with entries that are too old, or with rejects, whose age only their text tells. */
async function projectsToTreat(db: Db, projects: readonly string[], privacy: Privacy, at: Date): Promise<Set<string>> {
  const found = new Set<string>();
  for (const batch of batchesOf(projects)) {
    const entries = db
      .selectFrom('feedback')
      .select('project_id')
      .where('project_id', 'in', batch)
      .where(holdsPersonal);
    const rejects = db.selectFrom('feedback_rejects').select('project_id').where('project_id', 'in', batch);
    const queries = [...tooOld(privacy, at).map((condition) => entries.where(condition)), rejects.where(isWhole)];
    for (const query of queries) for (const { project_id } of await query.distinct().execute()) found.add(project_id);
  }
  return found;
}

/** What makes an entry too old; an index answers each. */
function tooOld(privacy: Privacy, at: Date) {
  const [since, now] = [retentionStart(privacy, at), at.toISOString()];
  if (since === null) return [];
  return [
    ({ eb }: Where) => eb('created_at_utc', '<', since),
    ({ eb }: Where) => eb.and([eb('created_at_utc', 'is', null), eb('first_seen_at', '<', since)]),
    ({ eb }: Where) => eb.and([eb('created_at_utc', '>', now), eb('first_seen_at', '<', since)]),
  ];
}

async function treatOld(write: Write, project: string, treating: Treating): Promise<PrivacyChanges> {
  let entries = 0;
  for (const condition of tooOld(treating.privacy, treating.at)) {
    entries += await inTransactions(write, project, async (trx) => {
      const tooOldKeys = entriesAfter(trx, project).where(holdsPersonal).where(condition);
      const batch = await treatEntries(trx, tooOldKeys, personalBy(treating), treating);
      // Treated rows no longer meet the condition; where none had to change, the next batch would be the same.
      return batch.changed === 0 ? { ...batch, last: null } : batch;
    });
  }
  const rejects = await inTransactions(write, project, (trx, after) =>
    treatRejects(trx, rejectsAfter(trx, project, after).where(isWhole), (key) => personalBy(treating, key)),
  );
  return { entries, rejects };
}

/** How many rows are not yet as `privacy` asks for. Writes nothing. */
export async function countUntreated(db: Db, privacy: Privacy, at: Date): Promise<PrivacyChanges> {
  const counted = { entries: 0, rejects: 0 };
  if (keepsAll(privacy)) return counted;
  const personal = personalBy({ privacy: { ...privacy, hashKey: () => 'any' }, at });
  const suspects = mayHaveToChange(privacy, retentionStart(privacy, at));
  for (const project of await projectsWithData(db)) {
    counted.entries += await inBatches(async (after) => {
      const { rows, isLast } = await nextRows(
        db,
        'feedback',
        entriesAfter(db, project, after).where(suspects).orderBy('id'),
      );
      return batchOf(rows, isLast, rows.filter((row) => personal.stored(row) !== row).length);
    });
    counted.rejects += await inBatches(async (after) => {
      const { rows, isLast } = await nextRows(db, 'feedback_rejects', rejectsAfter(db, project, after).where(isWhole));
      return batchOf(rows, isLast, rows.filter((reject) => personal.reject(reject) !== reject).length);
    });
  }
  return counted;
}

/** Projects with anything stored, whether they are still configured or not. */
export async function projectsWithData(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('feedback')
    .select('project_id')
    .union(db.selectFrom('feedback_rejects').select('project_id'))
    .orderBy('project_id')
    .execute();
  return rows.map(({ project_id }) => project_id);
}

/** The condition of the index `feedback_personal_by_date`: the same words in the same order. */
export function holdsPersonal({ eb }: Where) {
  return eb.or([
    eb('contact', 'is not', null),
    eb('comment', 'is not', null),
    eb('code', 'is not', null),
    eb('extra', 'is not', null),
  ]);
}

/** Matches every row that does not yet follow `privacy`, and few others. */
function mayHaveToChange(privacy: Privacy, since: string | null) {
  return (where: Where) => {
    const { eb } = where;
    const dates = since === null ? [] : [eb('created_at_utc', '<', since), eb('first_seen_at', '<', since)];
    const old = dates.length === 0 ? [] : [eb.and([holdsPersonal(where), eb.or(dates)])];
    return eb.or([...(isRestricted(privacy) ? [isPlain(privacy)(where)] : []), ...old]);
  };
}

/** Whether a column holds a hash instead of what a person wrote. */
export function isHashed({ eb, fn }: Where, name: 'contact' | 'comment' | 'code') {
  return eb.and([eb(name, 'like', `${hashPrefix}%`), eb(fn<number>('length', [name]), '=', hashLength)]);
}

function isPlain({ contacts, comments }: Privacy) {
  return (where: Where) => {
    const { eb } = where;
    const column = (name: 'contact' | 'comment' | 'code', handling: Privacy['contacts']) => {
      if (handling === 'keep') return [];
      const isThere = eb(name, 'is not', null);
      return [handling === 'drop' ? isThere : eb.and([isThere, eb.not(isHashed(where, name))])];
    };
    const columns = [...column('contact', contacts), ...column('comment', comments), ...column('code', comments)];
    return eb.or([...columns, eb('extra', 'is not', null)]);
  };
}

interface Batch {
  changed: number;
  /** Id of the last row treated; null when there are no more. */
  last: string | null;
}

const batchOf = (rows: readonly { id: string }[], isLast: boolean, changed: number): Batch => ({
  changed,
  last: isLast ? null : (rows.at(-1)?.id ?? null),
});

/** Treats batch after batch, each after the last id of the one before; returns how many rows changed. */
export async function inBatches(treat: (after: string) => Promise<Batch>): Promise<number> {
  let changed = 0;
  for (let after = ''; ; ) {
    const batch = await treat(after);
    changed += batch.changed;
    if (batch.last === null) return changed;
    after = batch.last;
    await letOthersRun();
  }
}

/** Like `inBatches`, each batch of a project in a transaction of its own. */
function inTransactions(
  write: Write,
  project: string,
  treat: (trx: Trx, after: string) => Promise<Batch>,
): Promise<number> {
  return inBatches((after) =>
    write(async (trx) => {
      await lockProject(trx, project);
      return treat(trx, after);
    }),
  );
}

const personalBy = ({ privacy, at }: Pick<Treating, 'privacy' | 'at'>, key = ''): PersonalData =>
  new PersonalData(privacy, { now: at, erased: new Set(), storeKey: key });

/** Replaces the next rows by what may be stored of them. The caller has locked the project. */
export async function treatEntries(
  trx: Trx,
  keys: EntryKeys,
  personal: PersonalData,
  { leavesWords }: Pick<Treating, 'leavesWords'>,
): Promise<Batch> {
  const { rows, isLast } = await nextRows(trx, 'feedback', keys);
  const pairs = rows.map((before) => ({ before, after: personal.stored(before) }));
  const changed = pairs.filter(({ before, after }) => after !== before);
  // If only contacts are hashed, indexing a million entries again would take longer than hashing them.
  const reindexed = changed.filter(({ before, after }) => !sameInIndex(before, after));
  if (leavesWords && reindexed.length > 0) await leaveWords(trx);
  await upsertRows(
    trx,
    changed.map(({ after }) => after),
    reindexed.map(({ after }) => after),
  );
  return batchOf(rows, isLast, changed.length);
}

/** Stored rejects of a project by their ids after one; '' comes before all. */
export function rejectsAfter(db: Db, project: string, after: string) {
  return db
    .selectFrom('feedback_rejects')
    .select(['project_id', 'id', sql<number | string>`octet_length(raw)`.as('bytes')])
    .where('project_id', '=', project)
    .where('id', '>', after)
    .orderBy('id');
}

/** Rejects whose text was not yet removed. */
export const isWhole = ({ eb }: ExpressionBuilder<FeedbackDatabase, 'feedback_rejects'>) =>
  eb('raw', 'not like', `${namesOnlyPrefix}%`);

/** Like `treatEntries`, for rejects; `personalOf` is given the store's own key. */
export async function treatRejects(
  trx: Trx,
  query: ReturnType<typeof rejectsAfter>,
  personalOf: (key: string) => PersonalData,
): Promise<Batch> {
  const { rows: rejects, isLast } = await nextRows(trx, 'feedback_rejects', query);
  if (rejects.length === 0) return { changed: 0, last: null };
  const personal = personalOf(await storeKey(trx));
  let changed = 0;
  for (const stored of rejects) {
    const reject = personal.reject(stored);
    if (reject === stored) continue;
    changed += 1;
    await trx
      .deleteFrom('feedback_rejects')
      .where('project_id', '=', stored.project_id)
      .where('id', '=', stored.id)
      .execute();
    await trx
      .insertInto('feedback_rejects')
      .values(reject)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  return batchOf(rejects, isLast, changed);
}

/** Retention removes a little after every pass, but scrubbing the store or its index takes seconds to minutes. */
const scrubEveryMs = 86_400_000;

/** Whether the store was scrubbed of removed bytes within the last day. */
export async function recentlyScrubbed(db: Db): Promise<boolean> {
  const { cleaned_at } = await db.selectFrom('search_progress').select('cleaned_at').executeTakeFirstOrThrow();
  return cleaned_at !== null && Date.now() - Date.parse(cleaned_at) < scrubEveryMs;
}
