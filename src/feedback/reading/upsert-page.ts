import { createHash } from 'node:crypto';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { erasedAmong } from '../privacy/erase-contact.ts';
import { namesOfEntry, namesOfReject, PersonalData } from '../privacy/personal-data.ts';
import { keepsAll, type Privacy, storeKey } from '../privacy/privacy.ts';
import {
  addCounts,
  createdAtUtc,
  type EntryCounts,
  type FeedbackEntry,
  noEntries,
  type RejectedEntry,
  storedText,
} from '../rules/feedback-entry.ts';
import { afterPage } from '../rules/next-step.ts';
import { RepeatedCursor } from '../rules/slice.ts';
import { upsertRows } from '../search/entry-index.ts';
import {
  batchesOf,
  type Content,
  entryContent,
  lockProject,
  refreshStatistics,
  replacing,
  rowsPerStatement,
  sameContent,
} from '../store/queries.ts';
import type { FeedbackDatabase, FeedbackTable, Trx } from '../store/tables.ts';
import { passFacts, takeStep } from './pass-facts.ts';
import {
  currentSlice,
  getPass,
  type PageUpsert,
  type PassPosition,
  type PassRow,
  passRow,
  StalePosition,
  type StoredPage,
} from './passes.ts';
import { endReading, noteAnswer } from './refresh-readings.ts';
import { noteRows, type RowChange } from './refresh-state.ts';

/** What a page does to the table, worked out before anything is written. */
interface PageChanges {
  /** Rows to insert, or to replace where the key exists. */
  upserts: FeedbackTable[];
  /** Ids of those that the service changed; `privacy` alone may rewrite others. */
  changed: ReadonlySet<string>;
  /** Ids whose row stays as it is but was seen again. */
  seenAgain: string[];
  history: FeedbackDatabase['feedback_changes'][];
  counts: EntryCounts;
  /** Greatest understood `createdAt` up to `latestBelievable`, UTC ISO 8601. */
  greatestCreatedAt: string | null;
}

interface PageContext {
  org: string;
  project: string;
  /** UTC ISO 8601. */
  seenAt: string;
  /** A `createdAt` after this moment never moves the watermark. */
  latestBelievable: string;
  stored: ReadonlyMap<string, FeedbackTable>;
  /** Removes what must not be stored. */
  personal: PersonalData;
}

/**
 * Compares the entries of a page with the stored rows, in the order they were sent: an id that occurs twice is handled
 * twice, so that `seen = inserted + updated + unchanged + rejected` is always true. An entry that cannot be understood
 * leaves the last version that could be. A stored row is compared as it would be stored today, so that another setting
 * of `privacy`, or a date that has become too old, rewrites rows but does not count them as updated.
 *
 * History keeps every change of `status` (S5) and the end of a deletion (`deleted_at`). Other fields are
 * replaced without history: they are what people wrote, and old versions would outlive an erasure request.
 */
function pageChanges(
  entries: readonly FeedbackEntry[],
  rejected: readonly RejectedEntry[],
  page: PageContext,
): PageChanges {
  const rows = new Map(page.stored);
  const written = new Set<string>();
  const changed = new Set<string>();
  const seenAgain = new Set<string>();
  const history: FeedbackDatabase['feedback_changes'][] = [];
  const counts: EntryCounts = {
    ...noEntries,
    seen: entries.length + rejected.length,
    rejected: rejected.length,
  };
  let greatestCreatedAt: string | null = null;

  const write = (content: Content, before: FeedbackTable | undefined): void => {
    const { seenAt } = page;
    rows.set(content.id, {
      ...content,
      first_seen_at: before?.first_seen_at ?? seenAt,
      last_seen_at: seenAt,
      deleted_at: null,
    });
    written.add(content.id);
    if (before !== undefined) history.push(...historyOf(before, content, seenAt));
  };

  for (const entry of entries) {
    const sent = entryContent(entry, page.org, page.project);
    const stored = rows.get(sent.id);
    const content = page.personal.sent(sent, stored?.first_seen_at ?? page.seenAt);
    const allowed = stored && page.personal.stored(stored);
    const createdAt = content.created_at_utc;
    if (createdAt !== null && createdAt <= page.latestBelievable && createdAt > (greatestCreatedAt ?? '')) {
      greatestCreatedAt = createdAt;
    }
    if (allowed !== undefined && allowed.deleted_at === null && sameContent(allowed, content)) {
      counts.unchanged += 1;
      if (allowed === stored) seenAgain.add(content.id);
      else write(content, allowed);
      continue;
    }
    counts[allowed === undefined ? 'inserted' : 'updated'] += 1;
    if (allowed !== undefined) changed.add(content.id);
    write(content, allowed);
  }

  for (const { id } of rejected) {
    const stored = rows.get(storedText(id));
    if (stored === undefined) continue;
    if (stored.deleted_at === null) seenAgain.add(stored.id);
    else write(page.personal.stored(stored), stored);
  }

  return {
    upserts: [...written].flatMap((id) => rows.get(id) ?? []),
    changed,
    seenAgain: [...seenAgain].filter((id) => !written.has(id)),
    history,
    counts,
    greatestCreatedAt,
  };
}

function historyOf(before: FeedbackTable, content: Content, seenAt: string): FeedbackDatabase['feedback_changes'][] {
  const key = { project_id: content.project_id, id: content.id, seen_at: seenAt };
  const changes: FeedbackDatabase['feedback_changes'][] = [];
  const { deleted_at, status } = before;
  if (deleted_at !== null) changes.push({ ...key, field: 'deleted_at', old: deleted_at, new: null });
  if (status !== content.status) changes.push({ ...key, field: 'status', old: status, new: content.status });
  return changes;
}

/** Digest of the ids of a page in any order: 32 hex digits. */
export function digestOfIds(page: { entries: readonly { id: string }[]; rejected: readonly { id: string }[] }): string {
  const ids = [...page.entries, ...page.rejected].map(({ id }) => storedText(id)).sort();
  return createHash('sha256').update(JSON.stringify(ids)).digest('hex').slice(0, 32);
}

async function storedRows(
  db: Trx,
  project: string,
  sent: readonly { id: string }[],
): Promise<Map<string, FeedbackTable>> {
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

async function writeRows(db: Trx, project: string, changes: PageChanges, seenAt: string): Promise<void> {
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
  for (const batch of batchesOf(history)) await db.insertInto('feedback_changes').values(batch).execute();
}

/** An id that can be understood now leaves the rejects; an id sent both ways in one page is kept in both tables. */
async function writeRejects(
  db: Trx,
  project: string,
  entries: readonly FeedbackEntry[],
  rejected: readonly RejectedEntry[],
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
        conflict.columns(['project_id', 'id']).doUpdateSet(replacing(['raw', 'reason', 'seen_at'])),
      )
      .execute();
  }
}

/** One statement may not touch a row twice (PostgreSQL), so the last of each id stands for it. */
function lastOfEachId(rejected: readonly RejectedEntry[]): RejectedEntry[] {
  return [...new Map(rejected.map((entry) => [storedText(entry.id), entry])).values()];
}

const dayMs = 86_400_000;

/**
 * The transaction of a page (S2): the position moves first, which also locks the pass against other attempts that read
 * the same page; then rows, rejects, history and counters; then what the page makes of its slice and, after the last
 * page of a slice, what the pass does next. It writes nothing that `privacy` keeps out, and nothing about people who
 * were erased. Throws `StalePosition`, `RepeatedCursor` and `GapInDates`.
 *
 * A page far beyond the size asked for is written in batches, so that the thread is free in between (heartbeats), and
 * still in the one transaction (decisions/0030).
 */
export async function upsertPage(db: Trx, page: PageUpsert, privacy: Privacy): Promise<StoredPage> {
  const position = positionAfter(page);
  const pass = await movePosition(db, page, position);
  const slice = await currentSlice(db, page.passId);
  if (slice === null) throw new Error(`sync pass ${page.passId} has no slice to read`);
  if (page.rowsOnly !== true && position.cursor !== null) {
    const isNew = await remember(db, page.passId, slice.slice, `cursor ${position.cursor}`);
    if (!isNew) throw new RepeatedCursor('the service gave a cursor that it had given before');
  }
  await lockProject(db, pass.project);

  const beganAt = slice.startedAt ?? latest(pass.startedAt, page.askedAt?.toISOString() ?? '');
  // An entry seen in a pass is seen after the pass began, even if this machine's clock says otherwise.
  const seenAt = latest(page.seenAt.toISOString(), new Date(Date.parse(beganAt) + 1).toISOString());
  const { counts, greatestCreatedAt, repeats } = await writeEntries(db, page, pass, { privacy, beganAt, seenAt });
  await refreshStatistics(db, position.page);
  await addToPass(
    db,
    page,
    page.isCheck === true ? onlyChanges(counts) : counts,
    later(pass.greatestCreatedAt, greatestCreatedAt),
  );
  if (page.rowsOnly === true) return { counts, position, massMissing: null };

  const { from, entries, rejected, hasMore, mayCheck = false } = page;
  const sent = entries.length + rejected.length;
  const digest = digestOfIds(page);
  const isNew = sent > 0 && (await remember(db, page.passId, slice.slice, `page ${digest}`));
  const moments = entries.map(({ createdAt }) => createdAtUtc(createdAt));
  const reading = { moments, sent, hasMore, mayCheck, cursor: from.cursor, askedAt: beganAt, digest, isNew, repeats };
  const step = await afterPage(passFacts(db, pass), pass, slice, reading);
  await takeStep(db, pass, step, new Date(seenAt));
  await noteAnswer(db, pass, step.slice, page, seenAt);
  const isRead = pass.pass === 'refresh' && (await currentSlice(db, page.passId)) === null;
  const massMissing = isRead ? await endReading(db, pass, new Date(seenAt)) : null;
  return { counts, position: (await getPass(db, page.passId))?.position ?? position, massMissing };
}

type Totals = Pick<PageChanges, 'counts' | 'greatestCreatedAt'> & {
  /** Entries that had been seen since the reading of the slice began. */
  repeats: number;
};

async function writeEntries(
  db: Trx,
  page: PageUpsert,
  { org, project, startedAt }: PassRow,
  { privacy, beganAt, seenAt }: { privacy: Privacy; beganAt: string; seenAt: string },
): Promise<Totals> {
  const latestBelievable = new Date(Date.parse(startedAt) + dayMs).toISOString();
  let total: Totals = { counts: noEntries, greatestCreatedAt: null, repeats: 0 };
  for (const [index, [entries, rejected]] of batchesOfPage(page).entries()) {
    if (index > 0) await letOthersRun();
    const personal = await personalData(db, privacy, { org, project }, { entries, rejected, now: page.seenAt });
    const safe = rejected.map((reject) => personal.reject(reject));
    const stored = await storedRows(db, project, [...entries, ...safe]);
    const changes = pageChanges(entries, safe, { org, project, seenAt, latestBelievable, stored, personal });
    await writeRows(db, project, changes, seenAt);
    await writeRejects(db, project, entries, safe, seenAt);
    await noteRows(db, { org, project }, rowChanges(changes, stored, seenAt), new Date(seenAt));
    total = {
      counts: addCounts(total.counts, changes.counts),
      greatestCreatedAt: later(total.greatestCreatedAt, changes.greatestCreatedAt),
      repeats: total.repeats + [...stored.values()].filter((row) => row.last_seen_at > beganAt).length,
    };
  }
  return total;
}

function rowChanges(
  { upserts, changed, seenAgain }: PageChanges,
  stored: ReadonlyMap<string, FeedbackTable>,
  seenAt: string,
): RowChange[] {
  return [
    ...upserts.map((after) => {
      const before = stored.get(after.id) ?? null;
      return { id: after.id, before, after, changed: before !== null && changed.has(after.id) };
    }),
    ...seenAgain.flatMap((id) => {
      const before = stored.get(id);
      return before === undefined ? [] : [{ id, before, after: { ...before, last_seen_at: seenAt }, changed: false }];
    }),
  ];
}

/** What must not be stored of these entries. */
async function personalData(
  db: Trx,
  privacy: Privacy,
  { org, project }: { org: string; project: string },
  { entries, rejected, now }: Pick<PageUpsert, 'entries' | 'rejected'> & { now: Date },
): Promise<PersonalData> {
  const erased = await erasedAmong(db, project, function* names() {
    for (const entry of entries) yield* namesOfEntry(entryContent(entry, org, project));
    for (const reject of rejected) yield* namesOfReject(reject);
  });
  const takesOut = erased.size > 0 || !keepsAll(privacy);
  return new PersonalData(privacy, {
    now,
    erased,
    storeKey: takesOut && rejected.length > 0 ? await storeKey(db) : '',
  });
}

/** Entries in the order sent, the rejects after all of them, each batch of a size that one statement takes. */
function batchesOfPage({ entries, rejected }: PageUpsert): [readonly FeedbackEntry[], readonly RejectedEntry[]][] {
  if (entries.length + rejected.length <= rowsPerStatement) return [[entries, rejected]];
  return [
    ...batchesOf(entries).map((batch): [FeedbackEntry[], RejectedEntry[]] => [batch, []]),
    ...batchesOf(rejected).map((batch): [FeedbackEntry[], RejectedEntry[]] => [[], batch]),
  ];
}

function positionAfter({ from, nextCursor, hasMore, rowsOnly }: PageUpsert): PassPosition {
  if (rowsOnly === true) return from;
  if (hasMore && nextCursor === null) {
    throw new Error(`page ${from.page + 1} promises more entries but has no cursor: it cannot be committed`);
  }
  const cursor = hasMore && nextCursor !== null ? storedText(nextCursor) : null;
  return { page: from.page + 1, cursor, complete: false };
}

async function movePosition(db: Trx, { passId, from }: PageUpsert, to: PassPosition): Promise<PassRow> {
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
  if (moved !== undefined) return passRow(moved);
  const pass = await getPass(db, passId);
  if (pass === null) throw new Error(`no sync pass ${passId} in this store`);
  if (pass.outcome !== 'running') throw new Error(`sync pass ${passId} has ended (${pass.outcome})`);
  throw new StalePosition(
    `page ${to.page} of pass ${passId} was committed by another attempt: the pass has ${pass.pages} pages`,
  );
}

/** True for the first time in a slice. */
async function remember(db: Trx, passId: string, slice: number, what: string): Promise<boolean> {
  const digest = createHash('sha256').update(`${slice} ${what}`).digest().subarray(0, 16).toString('hex');
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('sync_cursors')
    .values({ pass_id: passId, digest })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows !== 0n;
}

async function addToPass(
  db: Trx,
  { passId, requests }: PageUpsert,
  counts: EntryCounts,
  greatestCreatedAt: string | null,
): Promise<void> {
  await db
    .updateTable('sync_passes')
    .set((row) => ({
      requests: row('requests', '+', requests),
      seen: row('seen', '+', counts.seen),
      inserted: row('inserted', '+', counts.inserted),
      updated: row('updated', '+', counts.updated),
      unchanged: row('unchanged', '+', counts.unchanged),
      rejected: row('rejected', '+', counts.rejected),
      greatest_created_at: greatestCreatedAt,
    }))
    .where('pass_id', '=', passId)
    .execute();
}

/** A page requested again is not counted twice: only its changes count. */
function onlyChanges(counts: EntryCounts): EntryCounts {
  return { ...counts, seen: counts.inserted + counts.updated, unchanged: 0, rejected: 0 };
}

const latest = (a: string, b: string): string => (a > b ? a : b);

function later(a: string | null, b: string | null): string | null {
  return (a ?? '') > (b ?? '') ? a : b;
}
