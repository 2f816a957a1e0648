import { setImmediate as letOthersRun } from 'node:timers/promises';
import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { sameInIndex, upsertRows } from '../search/entry-index.ts';
import { isPostgres, lockProject, rowsPerStatement } from '../store/queries.ts';
import type { Db, FeedbackDatabase, FeedbackTable, Trx } from '../store/tables.ts';
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

type Rows = SelectQueryBuilder<FeedbackDatabase, 'feedback', FeedbackTable>;
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
    if (isRestricted(privacy)) treated.entries += await treatEntries(write, project, treating);
    const old = await treatOld(write, project, treating);
    treated.entries += old.entries;
    treated.rejects += old.rejects;
  }
  return treated;
}

/** Removes entries and contacts of one project that have become too old; an index finds them. */
export async function expire(write: Write, project: string, privacy: Privacy, at: Date): Promise<PrivacyChanges> {
  if (keepsAll(privacy)) return { entries: 0, rejects: 0 };
  return await treatOld(write, project, { privacy, at, leavesWords: false });
}

async function treatOld(write: Write, project: string, treating: Treating): Promise<PrivacyChanges> {
  const { privacy, at } = treating;
  const [since, now] = [retentionStart(privacy, at), at.toISOString()];
  const tooOld: ((rows: Rows) => Rows)[] =
    since === null
      ? []
      : [
          (rows) => rows.where('created_at_utc', '<', since),
          (rows) => rows.where('created_at_utc', 'is', null).where('first_seen_at', '<', since),
          (rows) => rows.where('created_at_utc', '>', now).where('first_seen_at', '<', since),
        ];
  let entries = 0;
  for (const condition of tooOld) {
    const query = (trx: Trx) => condition(rowsOf(trx, project).where(holdsPersonal));
    entries += await inBatches(write, async (trx) => {
      const batch = await treatBatch(trx, project, treating, query(trx));
      // Treated rows no longer meet the condition; where none had to change, the next batch would be the same.
      return batch.changed === 0 ? { ...batch, last: null } : batch;
    });
  }
  return { entries, rejects: await treatRejects(write, project, privacy, at) };
}

/** How many rows are not yet as `privacy` asks for. Writes nothing. */
export async function countUntreated(db: Db, privacy: Privacy, at: Date): Promise<PrivacyChanges> {
  const personal = new PersonalData({ ...privacy, hashKey: () => 'any' }, { now: at, erased: new Set(), storeKey: '' });
  const counted = { entries: 0, rejects: 0 };
  if (keepsAll(privacy)) return counted;
  const suspects = mayHaveToChange(privacy, retentionStart(privacy, at));
  for (const project of await projectsWithData(db)) {
    for (let last = ''; ; ) {
      const rows = await rowsOf(db, project).where(suspects).where('id', '>', last).orderBy('id').execute();
      counted.entries += rows.filter((row) => personal.stored(row) !== row).length;
      if (rows.length < rowsPerStatement) break;
      last = rows.at(-1)?.id ?? '';
    }
    const rejects = await plainRejects(db, project, '', Number.MAX_SAFE_INTEGER);
    counted.rejects += rejects.filter((reject) => personal.reject(reject) !== reject).length;
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

/** One walk over the entries of a project with text that `hash` or `drop` may have to remove. */
async function treatEntries(write: Write, project: string, treating: Treating): Promise<number> {
  const query = (trx: Trx) => rowsOf(trx, project).where(isPlain(treating.privacy)).orderBy('id');
  return await inBatches(write, (trx, after) => treatBatch(trx, project, treating, query(trx).where('id', '>', after)));
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

function isPlain({ contacts, comments }: Privacy) {
  return ({ eb, fn }: Where) => {
    const column = (name: 'contact' | 'comment' | 'code', handling: Privacy['contacts']) => {
      if (handling === 'keep') return [];
      const isThere = eb(name, 'is not', null);
      const isHashed = eb.and([eb(name, 'like', `${hashPrefix}%`), eb(fn<number>('length', [name]), '=', hashLength)]);
      return [handling === 'drop' ? isThere : eb.and([isThere, eb.not(isHashed)])];
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

/** Runs each batch in a transaction of its own, after the last id of the one before; returns how many rows changed. */
async function inBatches(write: Write, treat: (trx: Trx, after: string) => Promise<Batch>): Promise<number> {
  let changed = 0;
  for (let after = ''; ; ) {
    const batch = await write((trx) => treat(trx, after));
    changed += batch.changed;
    if (batch.last === null) return changed;
    after = batch.last;
    await letOthersRun();
  }
}

async function treatBatch(
  trx: Trx,
  project: string,
  { privacy, at, leavesWords }: Treating,
  rows: Rows,
): Promise<Batch> {
  await lockProject(trx, project);
  const found = await rows.execute();
  const personal = new PersonalData(privacy, { now: at, erased: new Set(), storeKey: '' });
  const pairs = found.map((before) => ({ before, after: personal.stored(before) }));
  const changed = pairs.filter(({ before, after }) => after !== before);
  // If only contacts are hashed, indexing a million entries again would take longer than hashing them.
  const reindexed = changed.filter(({ before, after }) => !sameInIndex(before, after));
  if (leavesWords && reindexed.length > 0) await leaveWords(trx);
  await upsertRows(
    trx,
    changed.map(({ after }) => after),
    reindexed.map(({ after }) => after),
  );
  return { changed: changed.length, last: found.length < rowsPerStatement ? null : (found.at(-1)?.id ?? null) };
}

async function treatRejects(write: Write, project: string, privacy: Privacy, at: Date): Promise<number> {
  return await inBatches(write, async (trx, after) => {
    await lockProject(trx, project);
    const found = await plainRejects(trx, project, after, rowsPerStatement);
    const about = { now: at, erased: new Set<string>(), storeKey: found.length > 0 ? await storeKey(trx) : '' };
    const personal = new PersonalData(privacy, about);
    let changed = 0;
    for (const reject of found) changed += (await replaceReject(trx, reject, personal.reject(reject))) ? 1 : 0;
    return { changed, last: found.length < rowsPerStatement ? null : (found.at(-1)?.id ?? null) };
  });
}

/** True when the reject had to change. */
export async function replaceReject(
  trx: Trx,
  stored: FeedbackDatabase['feedback_rejects'],
  reject: FeedbackDatabase['feedback_rejects'],
): Promise<boolean> {
  if (reject === stored) return false;
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
  return true;
}

async function plainRejects(
  db: Db,
  project: string,
  after: string,
  limit: number,
): Promise<FeedbackDatabase['feedback_rejects'][]> {
  return await db
    .selectFrom('feedback_rejects')
    .selectAll()
    .where('project_id', '=', project)
    .where('id', '>', after)
    .where('raw', 'not like', `${namesOnlyPrefix}%`)
    .orderBy('id')
    .limit(limit)
    .execute();
}

function rowsOf(db: Db, project: string): Rows {
  return db.selectFrom('feedback').selectAll().where('project_id', '=', project).limit(rowsPerStatement);
}

/** Retention removes a little after every pass, but scrubbing the store or its index takes seconds to minutes. */
const scrubEveryMs = 86_400_000;

/** Whether the store was scrubbed of removed bytes within the last day. */
export async function recentlyScrubbed(db: Db): Promise<boolean> {
  const { cleaned_at } = await db.selectFrom('search_progress').select('cleaned_at').executeTakeFirstOrThrow();
  return cleaned_at !== null && Date.now() - Date.parse(cleaned_at) < scrubEveryMs;
}
