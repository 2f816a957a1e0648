import { createHash } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { EntryCounts } from '../model/cargo.ts';
import type { Pass } from './advance-pass.ts';
import type { RejectedEntry } from './feedback-entry.ts';
import { type PageCommit, type PassPosition, RepeatedCursor, StalePosition } from './feedback-store.ts';
import { type PageChanges, pageChanges } from './page-changes.ts';
import { digestOfIds } from './page-digest.ts';
import { noteSlicePage } from './read-slice.ts';
import type { FeedbackDatabase, FeedbackTable } from './schema.ts';
import { currentSlice } from './slices.ts';
import { storedText } from './stored-text.ts';

type Db = Transaction<FeedbackDatabase>;

const dayMs = 86_400_000;

/** Rows a statement: 18 columns of 500 rows stay far below the parameters both databases allow (32,766 and 65,535). */
const rowsPerStatement = 500;

/**
 * The transaction of a page (DESIGN S2): the position moves first, which also locks the pass against anyone else who
 * read the same page; then rows, rejects, history and counters; then the page is noted in its slice, and after the last
 * page of a slice the pass goes on. Throws `StalePosition`, `RepeatedCursor` and `GapInDates`.
 */
export async function upsertPage(db: Db, commit: PageCommit): Promise<{ counts: EntryCounts; position: PassPosition }> {
  const position = positionAfter(commit);
  const pass = await movePosition(db, commit, position);
  const slice = await currentSlice(db, commit.passId);
  if (slice === null) throw new Error(`sync pass ${commit.passId} has no slice to read`);
  if (commit.rowsOnly !== true && position.cursor !== null) {
    const isNew = await remember(db, commit.passId, slice.slice, `cursor ${position.cursor}`);
    if (!isNew) throw new RepeatedCursor(`page ${position.page} leads back to a page that was read before`);
  }

  const started = slice.startedAt ?? latest(pass.started_at, commit.askedAt?.toISOString() ?? '');
  // What is seen in a pass is seen after it began, whatever the clock of this machine says.
  const seenAt = latest(commit.seenAt.toISOString(), new Date(Date.parse(started) + 1).toISOString());
  const held = await heldRows(db, pass.project_id, commit);
  const changes = pageChanges(commit.entries, commit.rejected, {
    org: pass.org_id,
    project: pass.project_id,
    seenAt,
    latestBelievable: new Date(Date.parse(pass.started_at) + dayMs).toISOString(),
    held,
  });
  await writeRows(db, pass.project_id, changes, seenAt);
  await writeRejects(db, pass.project_id, commit, seenAt);
  await addCounts(db, commit, pass, commit.isCheck === true ? onlyChanges(changes) : changes);
  if (commit.rowsOnly === true) return { counts: changes.counts, position };
  const repeats = [...held.values()].filter((row) => row.last_seen_at > started).length;
  const { from, entries, rejected, hasMore, mayCheck = false } = commit;
  const digest = digestOfIds(commit);
  const isNew =
    entries.length + rejected.length > 0 && (await remember(db, commit.passId, slice.slice, `page ${digest}`));
  const page = { entries, rejected, digest, isNew, hasMore, mayCheck, cursor: from.cursor, askedAt: started, repeats };
  await noteSlicePage(db, pass, slice, { ...page, at: new Date(seenAt) });
  return { counts: changes.counts, position: await positionOf(db, commit.passId) };
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

async function heldRows(
  db: Db,
  project: string,
  { entries, rejected }: PageCommit,
): Promise<Map<string, FeedbackTable>> {
  const held = new Map<string, FeedbackTable>();
  const ids = new Set([...entries, ...rejected].map(({ id }) => storedText(id)));
  for (const part of parts([...ids])) {
    const rows = await db
      .selectFrom('feedback')
      .selectAll()
      .where('project_id', '=', project)
      .where('id', 'in', part)
      .execute();
    for (const row of rows) held.set(row.id, row);
  }
  return held;
}

async function writeRows(db: Db, project: string, changes: PageChanges, seenAt: string): Promise<void> {
  for (const part of parts(changes.upserts)) {
    await db
      .insertInto('feedback')
      .values(part)
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'id']).doUpdateSet((row) => ({
          org_id: row.ref('excluded.org_id'),
          path: row.ref('excluded.path'),
          comment: row.ref('excluded.comment'),
          created_at: row.ref('excluded.created_at'),
          created_at_utc: row.ref('excluded.created_at_utc'),
          source: row.ref('excluded.source'),
          status: row.ref('excluded.status'),
          helpful: row.ref('excluded.helpful'),
          contact: row.ref('excluded.contact'),
          code: row.ref('excluded.code'),
          filename: row.ref('excluded.filename'),
          lang: row.ref('excluded.lang'),
          extra: row.ref('excluded.extra'),
          last_seen_at: row.ref('excluded.last_seen_at'),
          deleted_at: row.ref('excluded.deleted_at'),
        })),
      )
      .execute();
  }
  for (const part of parts(changes.seenAgain)) {
    await db
      .updateTable('feedback')
      .set({ last_seen_at: seenAt })
      .where('project_id', '=', project)
      .where('id', 'in', part)
      .execute();
  }
  for (const part of parts(changes.history)) await db.insertInto('feedback_changes').values(part).execute();
}

/** An id that can be understood now leaves the rejects; an id sent both ways in one page is kept in both tables. */
async function writeRejects(db: Db, project: string, { entries, rejected }: PageCommit, seenAt: string): Promise<void> {
  for (const part of parts(entries.map(({ id }) => storedText(id)))) {
    await db.deleteFrom('feedback_rejects').where('project_id', '=', project).where('id', 'in', part).execute();
  }
  for (const part of parts(lastOfEachId(rejected))) {
    const values = part.map(({ id, raw, reason }) => ({
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

async function addCounts(db: Db, { passId, requests }: PageCommit, pass: Pass, changes: PageChanges): Promise<void> {
  const { counts, greatestCreatedAt } = changes;
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
function onlyChanges(changes: PageChanges): PageChanges {
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
