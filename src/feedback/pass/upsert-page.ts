import { createHash } from 'node:crypto';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { EntryCounts } from '../../model/sync/entry-counts.ts';
import { entryContent } from '../database/entry-content.ts';
import { lockProject } from '../database/project-lock.ts';
import { refreshStatistics } from '../database/query-plans.ts';
import { storeKey } from '../database/store-key.ts';
import { storedText } from '../database/stored-text.ts';
import type { FeedbackDatabase, FeedbackTable } from '../database/tables.ts';
import { upsertRows } from '../database/upsert-rows.ts';
import type { FeedbackEntry, RejectedEntry } from '../feedback-entry.ts';
import { type PageCommit, type PassPosition, RepeatedCursor, StalePosition } from '../feedback-store.ts';
import { erasedAmong } from '../privacy/erased-people.ts';
import { namesOfEntry, namesOfReject, PersonalData } from '../privacy/personal-data.ts';
import { isRestricted, type Privacy } from '../privacy/privacy.ts';
import type { Pass } from './advance-pass.ts';
import { type PageChanges, pageChanges } from './page-changes.ts';
import { digestOfIds } from './page-digest.ts';
import { noteSlicePage } from './read-slice.ts';
import { currentSlice } from './slices.ts';

type Db = Transaction<FeedbackDatabase>;

const dayMs = 86_400_000;

/** Rows a statement: 18 columns of 500 rows stay far below the parameters both databases allow (32,766 and 65,535). */
const rowsPerStatement = 500;

/**
 * The transaction of a page (S2): the position moves first, which also locks the pass against anyone else who
 * read the same page; then rows, rejects, history and counters; then the page is noted in its slice, and after the last
 * page of a slice the pass goes on. Nothing is written that `privacy` keeps out, and nothing of people who were erased.
 * Throws `StalePosition`, `RepeatedCursor` and `GapInDates`.
 *
 * A page far beyond the size asked for is written part by part, so that the thread is free in between (heartbeats), and
 * still in the one transaction (docs/decisions/0033).
 */
export async function upsertPage(
  db: Db,
  commit: PageCommit,
  privacy: Privacy,
): Promise<{ counts: EntryCounts; position: PassPosition }> {
  const position = positionAfter(commit);
  const pass = await movePosition(db, commit, position);
  const slice = await currentSlice(db, commit.passId);
  if (slice === null) throw new Error(`sync pass ${commit.passId} has no slice to read`);
  if (commit.rowsOnly !== true && position.cursor !== null) {
    const isNew = await remember(db, commit.passId, slice.slice, `cursor ${position.cursor}`);
    if (!isNew) throw new RepeatedCursor('the service gave a cursor that it had given before');
  }
  await lockProject(db, pass.project_id);

  const started = slice.startedAt ?? latest(pass.started_at, commit.askedAt?.toISOString() ?? '');
  // What is seen in a pass is seen after it began, whatever the clock of this machine says.
  const seenAt = latest(commit.seenAt.toISOString(), new Date(Date.parse(started) + 1).toISOString());
  const context = {
    org: pass.org_id,
    project: pass.project_id,
    seenAt,
    latestBelievable: new Date(Date.parse(pass.started_at) + dayMs).toISOString(),
  };
  let total = nothing;
  let repeats = 0;
  for (const [entries, rejected] of partsOf(commit)) {
    if (total !== nothing) await letOthersRun();
    const personal = await personalData(db, privacy, context, { entries, rejected, now: commit.seenAt });
    const safe = rejected.map((reject) => personal.reject(reject));
    const held = await heldRows(db, context.project, [...entries, ...safe]);
    const changes = pageChanges(entries, safe, { ...context, held, personal });
    await writeRows(db, context.project, changes, seenAt);
    await writeRejects(db, context.project, { entries, rejected: safe }, seenAt);
    repeats += [...held.values()].filter((row) => row.last_seen_at > started).length;
    total = sum(total, changes);
  }
  await refreshStatistics(db, position.page);
  await addCounts(db, commit, pass, commit.isCheck === true ? onlyChanges(total) : total);
  if (commit.rowsOnly === true) return { counts: total.counts, position };
  const { from, entries, rejected, hasMore, mayCheck = false } = commit;
  const digest = digestOfIds(commit);
  const isNew =
    entries.length + rejected.length > 0 && (await remember(db, commit.passId, slice.slice, `page ${digest}`));
  const page = { entries, rejected, digest, isNew, hasMore, mayCheck, cursor: from.cursor, askedAt: started, repeats };
  await noteSlicePage(db, pass, slice, { ...page, at: new Date(seenAt) });
  return { counts: total.counts, position: await positionOf(db, commit.passId) };
}

/** What must not be stored of these entries. */
async function personalData(
  db: Db,
  privacy: Privacy,
  { org, project }: { org: string; project: string },
  { entries, rejected, now }: Pick<PageCommit, 'entries' | 'rejected'> & { now: Date },
): Promise<PersonalData> {
  const erased = await erasedAmong(db, project, function* names() {
    for (const entry of entries) yield* namesOfEntry(entryContent(entry, org, project));
    for (const reject of rejected) yield* namesOfReject(reject);
  });
  const takesOut = erased.size > 0 || isRestricted(privacy) || privacy.retentionMs !== null;
  return new PersonalData(privacy, {
    now,
    erased,
    storeKey: takesOut && rejected.length > 0 ? await storeKey(db) : '',
  });
}

type Totals = Pick<PageChanges, 'counts' | 'greatestCreatedAt'>;

const nothing: Totals = {
  counts: { seen: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0, tombstoned: 0 },
  greatestCreatedAt: null,
};

function sum(a: Totals, b: Totals): Totals {
  return {
    counts: {
      seen: a.counts.seen + b.counts.seen,
      inserted: a.counts.inserted + b.counts.inserted,
      updated: a.counts.updated + b.counts.updated,
      unchanged: a.counts.unchanged + b.counts.unchanged,
      rejected: a.counts.rejected + b.counts.rejected,
      tombstoned: a.counts.tombstoned + b.counts.tombstoned,
    },
    greatestCreatedAt: later(a.greatestCreatedAt, b.greatestCreatedAt),
  };
}

/** Entries in the order sent, the rejects after all of them, each part of a size that one statement takes. */
function partsOf({ entries, rejected }: PageCommit): [readonly FeedbackEntry[], readonly RejectedEntry[]][] {
  if (entries.length + rejected.length <= rowsPerStatement) return [[entries, rejected]];
  return [
    ...parts(entries).map((part): [FeedbackEntry[], RejectedEntry[]] => [part, []]),
    ...parts(rejected).map((part): [FeedbackEntry[], RejectedEntry[]] => [[], part]),
  ];
}

function positionAfter({ from, nextCursor, hasMore, rowsOnly }: PageCommit): PassPosition {
  if (rowsOnly === true) return from;
  if (hasMore && nextCursor === null) {
    throw new Error(`page ${from.page + 1} promises more entries but has no cursor: it cannot be committed`);
  }
  const cursor = hasMore && nextCursor !== null ? storedText(nextCursor) : null;
  return { page: from.page + 1, cursor, complete: false };
}

async function positionOf(db: Db, passId: string): Promise<PassPosition> {
  const { pages, next_cursor, complete } = await db
    .selectFrom('sync_passes')
    .select(['pages', 'next_cursor', 'complete'])
    .where('pass_id', '=', passId)
    .executeTakeFirstOrThrow();
  return { page: pages, cursor: next_cursor, complete: complete === 1 };
}

async function movePosition(db: Db, { passId, from }: PageCommit, to: PassPosition): Promise<Pass> {
  const cursor = from.cursor === null ? null : storedText(from.cursor);
  const moved = await db
    .updateTable('sync_passes')
    .set({ pages: to.page, next_cursor: to.cursor })
    .where('pass_id', '=', passId)
    .where('outcome', '=', 'running')
    .where('complete', '=', Number(from.complete))
    .where('complete', '=', 0)
    .where('pages', '=', from.page)
    .where('next_cursor', cursor === null ? 'is' : '=', cursor)
    .returningAll()
    .executeTakeFirst();
  if (moved !== undefined) return moved;
  const pass = await db
    .selectFrom('sync_passes')
    .where('pass_id', '=', passId)
    .select(['pages', 'outcome'])
    .executeTakeFirst();
  if (pass === undefined) throw new Error(`no sync pass ${passId} in this store`);
  if (pass.outcome !== 'running') throw new Error(`sync pass ${passId} has ended (${pass.outcome})`);
  throw new StalePosition(
    `page ${to.page} of pass ${passId} was committed by somebody else: it has ${pass.pages} pages`,
  );
}

/** True for the first time in a slice. */
async function remember(db: Db, passId: string, slice: number, what: string): Promise<boolean> {
  const digest = createHash('sha256').update(`${slice} ${what}`).digest().subarray(0, 16).toString('hex');
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('sync_cursors')
    .values({ pass_id: passId, digest })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows !== 0n;
}

async function heldRows(db: Db, project: string, sent: readonly { id: string }[]): Promise<Map<string, FeedbackTable>> {
  const ids = [...new Set(sent.map(({ id }) => storedText(id)))];
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', project)
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

async function writeRows(db: Db, project: string, changes: PageChanges, seenAt: string): Promise<void> {
  const { upserts, seenAgain, history } = changes;
  await upsertRows(db, upserts);
  if (seenAgain.length > 0) {
    await db
      .updateTable('feedback')
      .set({ last_seen_at: seenAt })
      .where('project_id', '=', project)
      .where('id', 'in', seenAgain)
      .execute();
  }
  // An entry sent twice may have changed twice: more rows than entries.
  for (const part of parts(history)) await db.insertInto('feedback_changes').values(part).execute();
}

/** An id that can be understood now leaves the rejects; an id sent both ways in one page is kept in both tables. */
async function writeRejects(
  db: Db,
  project: string,
  { entries, rejected }: Pick<PageCommit, 'entries' | 'rejected'>,
  seenAt: string,
): Promise<void> {
  if (entries.length > 0) {
    const ids = entries.map(({ id }) => storedText(id));
    await db.deleteFrom('feedback_rejects').where('project_id', '=', project).where('id', 'in', ids).execute();
  }
  if (rejected.length > 0) {
    const values = lastOfEachId(rejected).map(({ id, raw, reason }) => ({
      project_id: project,
      id: storedText(id),
      raw: storedText(raw),
      reason: storedText(reason),
      seen_at: seenAt,
    }));
    await db
      .insertInto('feedback_rejects')
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'id']).doUpdateSet((row) => ({
          raw: row.ref('excluded.raw'),
          reason: row.ref('excluded.reason'),
          seen_at: row.ref('excluded.seen_at'),
        })),
      )
      .execute();
  }
}

async function addCounts(db: Db, { passId, requests }: PageCommit, pass: Pass, total: Totals): Promise<void> {
  const { counts, greatestCreatedAt } = total;
  await db
    .updateTable('sync_passes')
    .set((row) => ({
      requests: row('requests', '+', requests),
      seen: row('seen', '+', counts.seen),
      inserted: row('inserted', '+', counts.inserted),
      updated: row('updated', '+', counts.updated),
      unchanged: row('unchanged', '+', counts.unchanged),
      rejected: row('rejected', '+', counts.rejected),
      greatest_created_at: later(pass.greatest_created_at, greatestCreatedAt),
    }))
    .where('pass_id', '=', passId)
    .execute();
}

/** A page asked for once more is not seen a second time: only what it changed counts. */
function onlyChanges(changes: Totals): Totals {
  const { inserted, updated } = changes.counts;
  return { ...changes, counts: { ...changes.counts, seen: inserted + updated, unchanged: 0, rejected: 0 } };
}

const latest = (a: string, b: string): string => (a > b ? a : b);

function later(a: string | null, b: string | null): string | null {
  return (a ?? '') > (b ?? '') ? a : b;
}

/** One statement may not touch a row twice (PostgreSQL), so the last of each id stands for it. */
function lastOfEachId(rejected: readonly RejectedEntry[]): RejectedEntry[] {
  return [...new Map(rejected.map((entry) => [storedText(entry.id), entry])).values()];
}

function parts<T>(items: readonly T[]): T[][] {
  const found: T[][] = [];
  for (let at = 0; at < items.length; at += rowsPerStatement) found.push(items.slice(at, at + rowsPerStatement));
  return found;
}
