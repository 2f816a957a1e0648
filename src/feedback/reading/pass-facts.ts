import { type Selectable, sql } from 'kysely';
import { type SliceFindings, type StoreFacts, sliceFindings } from '../rules/fact-queries.ts';
import { closedStatuses, openStatuses, type ProjectKey, storedText } from '../rules/feedback-entry.ts';
import { afterCut, ended, nextStep, type SliceStep } from '../rules/next-step.ts';
import {
  type DatedList,
  edgesOf,
  expectedPagesOf,
  type FirstSlices,
  firstSlices,
  type StoredCounts,
  type Target,
} from '../rules/plan-slices.ts';
import { pagesOf } from '../rules/slice.ts';
import {
  boundsOfPass,
  leastVerified,
  markVerified,
  type PassBounds,
  type PassKind,
  unverified,
  type VerifiedRange,
} from '../rules/sync.ts';
import { unindexRows } from '../search/entry-index.ts';
import { batchesOf, countRows, liveEntries, lockProject, ofProject, within } from '../store/queries.ts';
import type { Db, FeedbackDatabase, Trx } from '../store/tables.ts';
import {
  addSlices,
  appendPlanned,
  currentSlice,
  datesAreCoarse,
  dropPlanned,
  everSwept,
  listSlices,
  noteCoarseDates,
  type PassRow,
  watermark,
  writeSlice,
} from './passes.ts';
import { noteRows } from './refresh-state.ts';

/** The missing entries, and the list their places refer to. */
interface MissingQuestion extends ProjectKey {
  /** The start of the pass: entries last seen before it are missing. */
  unseenSince: string;
  /** Only those stored as open. */
  open: boolean;
  /** The list: the closed entries and the missing ones, or all. */
  among: 'closed' | 'all';
}

/**
 * The dated entries that were not seen since `unseenSince`, by date, each with its place in the list that windows of
 * `lookFor` would read, and the moments at those windows' edges. Only moments and places are in memory.
 */
async function missingEntries(db: Db, question: MissingQuestion): Promise<{ targets: Target[]; list: DatedList }> {
  // Numbering the whole list is worth it only if something is missing.
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

/** Whether an entry without a readable id has come since: it may be any that seems missing, so none counts as gone. */
export async function cameWithoutId(db: Db, project: string, since: string): Promise<boolean> {
  const row = await rejectsSince(db, project, since)
    .where((reject) => reject.or([reject('id', 'like', 'sha256:%'), reject('id', 'like', 'hmac-sha256:%')]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether every entry since had a readable id and form: an unreadable one leaves its old version in the store. */
async function allReadableSince(db: Db, project: string, since: string): Promise<boolean> {
  if (await cameWithoutId(db, project, since)) return false;
  const row = await rejectsSince(db, project, since)
    .where('id', 'in', (stored) => stored.selectFrom('feedback').select('id').where('project_id', '=', project))
    .limit(1)
    .executeTakeFirst();
  return row === undefined;
}

function rejectsSince(db: Db, project: string, since: string) {
  return db.selectFrom('feedback_rejects').select('id').where('project_id', '=', project).where('seen_at', '>=', since);
}

export type VerifiedRow = Selectable<FeedbackDatabase['verified_ranges']>;

/** For each range of dates, the moment up to which it is complete; `undated` for entries without a date. */
export async function verifiedRanges(
  db: Db,
  org: string,
  project: string,
): Promise<{ ranges: VerifiedRange[]; undated: string | null }> {
  const rows = await db
    .selectFrom('verified_ranges')
    .selectAll()
    .where(ofProject(org, project))
    .orderBy('place')
    .execute();
  return rangesOf(rows);
}

/** What the rows of a project say, in the order of their places. */
export function rangesOf(rows: readonly VerifiedRow[]): { ranges: VerifiedRange[]; undated: string | null } {
  const dated = rows.filter((row) => row.undated === 0);
  return {
    ranges:
      dated.length === 0
        ? [...unverified]
        : dated.map((row) => ({ from: row.date_from, to: row.date_to, verifiedUpTo: row.verified_up_to })),
    undated: rows.find((row) => row.undated === 1)?.verified_up_to ?? null,
  };
}

/** The moment up to which all stored entries are complete (S4); null while some are not. */
export async function verifiedUpTo(db: Db, org: string, project: string): Promise<string | null> {
  const { ranges, undated } = await verifiedRanges(db, org, project);
  return leastVerified([...ranges, { verifiedUpTo: undated }]);
}

/** Notes what a reading begun at `at` has shown to be complete. */
async function noteVerified(
  db: Trx,
  org: string,
  project: string,
  shown: { from: string | null; to: string | null; undated: boolean; at: string },
): Promise<void> {
  const before = await verifiedRanges(db, org, project);
  const undated = shown.undated && shown.at > (before.undated ?? '') ? shown.at : before.undated;
  const ranges = markVerified(before.ranges, shown);
  await db.deleteFrom('verified_ranges').where(ofProject(org, project)).execute();
  await db
    .insertInto('verified_ranges')
    .values(
      [{ from: null, to: null, verifiedUpTo: undated }, ...ranges].map(({ from, to, verifiedUpTo }, place) => ({
        org_id: org,
        project_id: project,
        place,
        undated: place === 0 ? 1 : 0,
        date_from: from,
        date_to: to,
        verified_up_to: verifiedUpTo,
      })),
    )
    .execute();
}

/** The facts that the decisions about a pass read from the tables, inside the transaction that carries them out. */
export function passFacts(db: Trx, pass: PassRow): StoreFacts {
  const { org, project, passId, startedAt } = pass;
  const entries = liveEntries(db, pass);
  return {
    slices: () => listSlices(db, passId),
    everSwept: () => everSwept(db, org, project),
    watermark: () => watermark(db, org, project),
    undatedVerifiedUpTo: async () => (await verifiedRanges(db, org, project)).undated,
    allReadableSince: (moment) => allReadableSince(db, project, moment),
    datesAreCoarse: () => datesAreCoarse(db, org, project),
    entries: () => countRows(entries),
    entriesWithin: ({ dateFrom, dateTo }) => countRows(entries.where(within('created_at_utc', dateFrom, dateTo))),
    missing: (which) => missingEntries(db, { org, project, unseenSince: startedAt, ...which }),
    async entriesBySourceAndStatus() {
      const rows = await entries
        .select((row) => ['source', 'status', row.fn.countAll().as('entries')])
        .groupBy(['source', 'status'])
        .execute();
      return new Map(rows.map((row) => [`${row.source} ${row.status}`, Number(row.entries)]));
    },
    leftOutBy: ({ startedAt: lookedAt, dateFrom, dateTo, statuses, oldestSeen, newestSeen }) =>
      countRows(
        entries
          .where('last_seen_at', '<', lookedAt ?? startedAt)
          .where(within('created_at_utc', dateFrom, dateTo))
          .$if(statuses === null, (query) => query.where('last_seen_at', '>=', startedAt))
          .$if(statuses !== null, (query) => query.where('status', 'in', statuses ?? []))
          .where((row) =>
            row.or([row('created_at_utc', '<', oldestSeen ?? ''), row('created_at_utc', '>', newestSeen ?? '')]),
          ),
      ),
  };
}

export interface PassQuestion extends ProjectKey {
  pass: PassKind;
  /** Bounds given by a person, checked by `boundsProblem`. */
  from?: string;
  to?: string;
}

/** What a pass would do if it began now; no request is made for it (S4, `feedback sync --plan`). */
export interface PlannedPass extends FirstSlices {
  bounds: PassBounds & { reason: string };
  /** Requests for what is planned; null while the store knows too little. */
  expectedRequests: number | null;
  /** Requests it will not exceed except for failures and new entries; null where that is unknown. */
  mostRequests: number | null;
}

/** Plans a pass from what the store knows. */
export async function planPass(db: Db, { org, project, ...asked }: PassQuestion): Promise<PlannedPass> {
  const bounds = boundsOfPass({ ...asked, watermark: await watermark(db, org, project) });
  const counts = await storedCounts(db, { org, project }, bounds);
  const first = firstSlices(asked.pass, bounds, counts);
  const isReview = first.slices.some(({ stage }) => stage === 'open');
  return {
    ...first,
    bounds,
    expectedRequests: expectedPagesOf(first.slices),
    mostRequests: isReview ? pagesOf(counts.stored) : null,
  };
}

/** Counts a project's stored entries, for the plan of a pass (S4). */
async function storedCounts(db: Db, key: ProjectKey, { dateFrom, dateTo }: PassBounds): Promise<StoredCounts> {
  const entries = liveEntries(db, key);
  const inBounds = entries.where(within('created_at_utc', dateFrom, dateTo));
  return {
    stored: await countRows(entries),
    inBounds: await countRows(inBounds),
    open: await countRows(inBounds.where('status', 'in', openStatuses)),
    everSwept: await everSwept(db, key.org, key.project),
  };
}

/** Notes as gone the entries that two complete readings have missed (S4), unless one of them may have come without its id. */
async function tombstone(
  db: Trx,
  { passId, org, project }: PassRow,
  { unseenSince, covered }: NonNullable<SliceFindings['gone']>,
  noticedAt: Date,
): Promise<void> {
  const unseen = liveEntries(db, { org, project }).select('id').where('last_seen_at', '<', unseenSince);
  const missing =
    covered === 'undated'
      ? unseen.where('created_at_utc', 'is', null)
      : covered.reduce(
          (rows, { from, to }) =>
            rows
              .$if(from !== null, (query) => query.where('created_at_utc', '>=', from ?? ''))
              .$if(to !== null, (query) => query.where('created_at_utc', '<=', to ?? '')),
          unseen.where('created_at_utc', 'is not', null),
        );
  const ids = (await missing.execute()).map(({ id }) => id);
  if (ids.length === 0 || (await cameWithoutId(db, project, unseenSince))) return;
  await tombstoneEntries(db, { passId, org, project }, ids, noticedAt);
}

/** Notes entries as gone, and counts them to the pass that found it. */
export async function tombstoneEntries(
  db: Trx,
  { passId, org, project }: Pick<PassRow, 'passId' | 'org' | 'project'>,
  ids: readonly string[],
  noticedAt: Date,
): Promise<void> {
  const at = noticedAt.toISOString();
  for (const batch of batchesOf(ids)) {
    const rows = await db
      .selectFrom('feedback')
      .select(['id', 'created_at_utc', 'status', 'last_seen_at', 'deleted_at'])
      .where('project_id', '=', project)
      .where('id', 'in', batch)
      .execute();
    const changes = rows.map((before) => ({ id: before.id, before, after: null, changed: true }));
    await noteRows(db, { org, project }, changes, noticedAt);
    await db
      .updateTable('feedback')
      .set({ deleted_at: at })
      .where('project_id', '=', project)
      .where('id', 'in', batch)
      .execute();
    await unindexRows(db, project, batch);
    await db
      .insertInto('feedback_changes')
      .values(batch.map((id) => ({ project_id: project, id, field: 'deleted_at', old: null, new: at, seen_at: at })))
      .execute();
  }
  if (ids.length === 0) return;
  await db
    .updateTable('sync_passes')
    .set((row) => ({ tombstoned: row('tombstoned', '+', ids.length) }))
    .where('pass_id', '=', passId)
    .execute();
}

/** Writes where a slice stands; after its end also what it shows and what the pass does next (decisions/0041). */
export async function takeStep(db: Trx, pass: PassRow, step: SliceStep, at: Date): Promise<void> {
  await writeStep(db, pass, step);
  const { slice, unshifted } = step;
  if (slice.outcome !== 'read') return;
  const { passId, org, project } = pass;
  const facts = passFacts(db, pass);
  const { gone, verified } = await sliceFindings(facts, pass, slice, unshifted);
  if (gone !== null) await tombstone(db, pass, gone, at);
  if (verified !== null) await noteVerified(db, org, project, verified);
  const next = await nextStep(facts, pass, slice);
  if (next.coarseDates !== null) await noteCoarseDates(db, org, project, next.coarseDates);
  if (next.dropped.length > 0) await dropPlanned(db, passId, next.dropped);
  if (next.slices.length > 0) await appendPlanned(db, passId, next.slices);
  if (next.complete) await db.updateTable('sync_passes').set({ complete: 1 }).where('pass_id', '=', passId).execute();
}

/** Ends the check of a slice: `same` if its last page came again unchanged, null if it was not requested. */
export async function endCheck(db: Trx, pass: PassRow, same: boolean | null, at: Date): Promise<void> {
  await lockProject(db, pass.project);
  const slice = await currentSlice(db, pass.passId);
  if (slice?.outcome === 'checking') await takeStep(db, pass, ended(slice, same === true), at);
}

/** The service refused `cursor`: if the pass stands there, a slice continues by date (S3). Throws `CannotResume`. */
export async function cutSlice(db: Trx, pass: PassRow, cursor: string): Promise<void> {
  const slice = await currentSlice(db, pass.passId);
  if (slice?.outcome !== 'reading' || pass.position.cursor !== storedText(cursor)) return;
  await writeStep(db, pass, await afterCut(passFacts(db, pass), slice));
}

async function writeStep(db: Trx, { passId }: PassRow, { slice, resumed }: SliceStep): Promise<void> {
  await writeSlice(db, passId, slice);
  if (resumed === null) return;
  await db.updateTable('sync_passes').set({ next_cursor: null }).where('pass_id', '=', passId).execute();
  await addSlices(db, passId, [resumed]);
}
