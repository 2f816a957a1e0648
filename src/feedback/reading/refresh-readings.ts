import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { datesSeen, isWholeWalk } from '../rules/fact-queries.ts';
import { openStatuses, type ProjectKey } from '../rules/feedback-entry.ts';
import { isIn, type RefreshPage, usualShape } from '../rules/refresh/pages.ts';
import { judged } from '../rules/refresh/queue.ts';
import { hourMs } from '../rules/refresh/rates.ts';
import { type Coverage, coverageOf, dateSlackMs, isCovered, isoText, type PassSlice, shifted } from '../rules/slice.ts';
import type { ProjectFindings } from '../rules/sync.ts';
import { matching, ofProject } from '../store/queries.ts';
import type { Db, Trx } from '../store/tables.ts';
import { cameWithoutId, tombstoneEntries } from './pass-facts.ts';
import {
  appendPlanned,
  beginPass,
  currentSlice,
  datesAreCoarse,
  finishPass,
  getPass,
  listSlices,
  type PageUpsert,
  type PassRow,
  passRow,
  watermark,
} from './passes.ts';
import { cutProject, makeRoom } from './refresh-cuts.ts';
import {
  changePage,
  changeProject,
  cutOf,
  entriesOfPage,
  longestPauseMs,
  neighbour,
  noteLeft,
  pageOf,
  pagesOfProject,
  projectRow,
  refreshProject,
} from './refresh-state.ts';

interface RefreshRun {
  workflowId: string;
  runId: string;
}

interface RefreshEnd extends RefreshRun {
  org: string;
  outcome: 'completed' | 'failed' | 'cancelled';
  /** Failure type and message, without content. */
  error: string | null;
  startedAt: Date;
  finishedAt: Date;
}

/**
 * Begins the first reading of a project, or goes on with it: a sweep, newest entries first where the service sends them so.
 * Null when a worker that died has stored its last page: it ends here.
 */
export async function beginFirstReading(db: Trx, key: ProjectKey, run: RefreshRun, at: Date): Promise<PassRow | null> {
  const { first_pass } = await refreshProject(db, key);
  const begun = first_pass === null ? null : await getPass(db, first_pass);
  if (begun?.position.complete) {
    await endFirstReading(db, begun, at);
    return null;
  }
  if (begun?.outcome === 'running') return begun;
  const passId = randomUUID();
  await changeProject(db, key, { first_pass: passId });
  return await beginPass(db, { passId, ...key, pass: 'sweep', ...run, dateFrom: null, dateTo: null, startedAt: at });
}

/** The first reading of a project is done: its pass ends, and its pages compete. */
export async function endFirstReading(db: Trx, pass: PassRow, at: Date): Promise<void> {
  await finishPass(db, pass.passId, { outcome: 'completed', error: null, waitedMs: 0, finishedAt: at });
  await changeProject(db, pass, { first_pass: null, head_read_at: pass.startedAt });
  await cutProject(db, pass, at.getTime(), null);
}

/** Begins the reading of a page, or goes on with the one that its project is in; returns the row of the pass that reads. */
export async function beginReading(
  db: Trx,
  org: string,
  page: RefreshPage,
  run: RefreshRun,
  at: Date,
): Promise<PassRow> {
  const key = { org, project: page.project };
  const [running] = await readingsUnderWay(db, key);
  const passId = running?.passId ?? randomUUID();
  if (running !== undefined) {
    await db
      .updateTable('sync_passes')
      .set({ workflow_id: run.workflowId, run_id: run.runId })
      .where('pass_id', '=', passId)
      .execute();
    if ((await currentSlice(db, passId)) !== null) return running;
  }
  const planned = { ...(await queryFor(db, key, page)), source: null, expectedPages: Math.ceil(page.requests) };
  const slice =
    page.list === 'open'
      ? ({ ...planned, stage: 'open', statuses: openStatuses } as const)
      : ({ ...planned, stage: 'read', statuses: null } as const);
  const pass = { passId, ...key, pass: 'refresh', ...run, dateFrom: null, dateTo: null, startedAt: at } as const;
  if (running === undefined) await beginPass(db, { ...pass, slices: [slice] });
  else await appendPlanned(db, passId, [slice]);
  await changePage(db, org, page).set({ pass_id: passId }).execute();
  const row = await getPass(db, passId);
  if (row === null) throw new Error(`no sync pass ${passId} in this store`);
  return row;
}

/**
 * The dates to ask for: from the entry before the page's to the one after, so that an answer that holds both proves what
 * lies between. If the service reads a date-time as its whole day, or may do so and the last answer left entries at the
 * edges unproven, both bounds are wider by `dateSlackMs`.
 */
async function queryFor(db: Trx, key: ProjectKey, page: RefreshPage): Promise<Pick<PassSlice, 'dateFrom' | 'dateTo'>> {
  const { list, from, to } = page;
  if (list === 'undated') return { dateFrom: null, dateTo: null };
  if ((await datesAreCoarse(db, key.org, key.project)) || (await isUnproven(db, key, page))) {
    return {
      dateFrom: from === null ? null : isoText(from - dateSlackMs),
      dateTo: to === null ? null : isoText(to + dateSlackMs),
    };
  }
  // The open entry next to a page may be far away among closed ones.
  const older = from === null || list === 'open' ? null : await neighbour(db, key, from, 'older');
  const newer = to === null || list === 'open' ? null : await neighbour(db, key, to, 'newer');
  return {
    dateFrom: older ?? (from === null ? null : isoText(from)),
    dateTo: newer === null ? (to === null ? null : isoText(to)) : shifted(newer, 1),
  };
}

/** Whether the last reading of a page neither returned all of its entries nor told for sure that they are missing. */
async function isUnproven(db: Trx, key: ProjectKey, page: RefreshPage): Promise<boolean> {
  const { exact_dates: exact } = await refreshProject(db, key);
  if (exact === 1 || page.readAt === null) return false;
  const readAt = page.readAt;
  return (await entriesOfPage(db, key.org, page)).some((entry) => isIn(page.list, entry) && entry.seenAt < readAt);
}

/** The passes that read pages of an organization, or of one of its projects. */
async function readingsUnderWay(db: Trx, { org, project }: { org: string; project?: string }): Promise<PassRow[]> {
  const rows = await db
    .selectFrom('sync_passes')
    .selectAll()
    .where(matching({ org_id: org, project_id: project }))
    // Written out, so that the index of running passes is used.
    .where('outcome', '=', sql.lit('running'))
    .where('pass', '=', 'refresh')
    .orderBy('started_at')
    .execute();
  return rows.map(passRow);
}

/** Until when a reading was last left alone, 0 for never, and when any project of its organization last answered. */
export async function lastPause(db: Db, pass: PassRow): Promise<{ until: number; answeredAt: number }> {
  const page = pagesOfProject(db, pass).where('pass_id', '=', pass.passId);
  const left = pass.pass === 'refresh' ? page : projectRow(db, pass);
  const { answered } = await db
    .selectFrom('refresh_projects')
    .select((row) => row.fn.max('answered_at').as('answered'))
    .where('org_id', '=', pass.org)
    .executeTakeFirstOrThrow();
  const { not_before: until = 0 } = (await left.executeTakeFirst()) ?? {};
  return { until, answeredAt: Date.parse(answered ?? isoText(0)) };
}

/** How a reading is given up. Moments in milliseconds. */
export interface GivenUp {
  at: number;
  /** Until then, others go before it. */
  notBefore: number;
  /** Whether the service refuses the whole project. */
  wholeProject: boolean;
}

/**
 * Gives up the reading of a page that cannot be read. If the service refuses the project, or has answered nothing of it
 * since another page was given up, all of its pages wait: they would cost a request each. One of several pages that
 * cannot be read waits longer, so that the next request tries another.
 */
export async function abandonReading(db: Trx, pass: PassRow, { at, notBefore, wholeProject }: GivenUp): Promise<void> {
  const { answered_at } = await refreshProject(db, pass);
  const others = pagesOfProject(db, pass).where('pass_id', 'is', null);
  const answered = Date.parse(answered_at ?? isoText(0));
  const pauseMs = notBefore - at;
  const isSecond = (await others.where('not_before', '>', answered + pauseMs).execute()).length > 0;
  const pages = db.updateTable('refresh_pages').where(ofProject(pass.org, pass.project));
  const longer = at + Math.min(4 * pauseMs, longestPauseMs);
  await pages
    .set({ pass_id: null, not_before: isSecond && !wholeProject ? longer : notBefore })
    .where('pass_id', '=', pass.passId)
    .execute();
  if (isSecond || wholeProject) {
    await pages.set({ not_before: notBefore }).where('not_before', '<', notBefore).execute();
    await changeProject(db, pass, { not_before: notBefore });
  }
  await clearReading(db, pass.passId);
}

/** A reading leaves nothing to the next one of its pass: cursors and pages may come again. */
async function clearReading(db: Trx, passId: string): Promise<void> {
  for (const table of ['sync_cursors', 'sync_slices'] as const) {
    await db.deleteFrom(table).where('pass_id', '=', passId).execute();
  }
  await db.updateTable('sync_passes').set({ next_cursor: null }).where('pass_id', '=', passId).execute();
}

/** What a page's complete reading says of entries it lacks, in its last transaction; how many if a person must know. */
export async function endReading(db: Trx, pass: PassRow, at: Date): Promise<number | null> {
  const slices = await listSlices(db, pass.passId);
  const read = slices.filter(({ outcome }) => outcome === 'read' || outcome === 'cut');
  const row = await pagesOfProject(db, pass).where('pass_id', '=', pass.passId).executeTakeFirst();
  const startedAt = slices[0]?.startedAt ?? null;
  await clearReading(db, pass.passId);
  if (row === undefined || startedAt === null) return null;
  const page = pageOf(row);
  const project = await refreshProject(db, pass);
  const learnt = learntOf(page, read);
  const exact = learnt.exact_dates ?? project.exact_dates;
  await changeProject(db, pass, {
    ...learnt,
    ...(learnt.oldest_first !== undefined && learnt.oldest_first !== project.oldest_first ? { reshaped: 1 } : {}),
  });
  const proven = provenBy(page, read, exact === 1);
  const entries = await entriesOfPage(db, pass.org, page);
  const withoutId = await cameWithoutId(db, pass.project, startedAt);
  const findings = judged({
    page,
    startedAt: Date.parse(startedAt),
    entries: withoutId ? [] : entries.filter(({ moment }) => proven(moment)),
    requests: read.reduce((sum, slice) => sum + slice.pages, 0),
    ...(await storedOf(db, pass, at)),
  });
  const { readAt, again, againFrom, requests } = findings.page;
  await changePage(db, pass.org, page)
    .set({ read_at: readAt, again, again_from: againFrom, requests, pass_id: null, not_before: 0 })
    .execute();
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const left = findings.left.flatMap(({ id, leftAt }) => {
    const entry = byId.get(id);
    return entry === undefined ? [] : [{ id, leftAt, entry }];
  });
  await noteLeft(db, pass, cutOf(project), left);
  await tombstoneEntries(db, pass, findings.tombstoned, at);
  if (page.to === null && page.list === 'all') await moveWatermark(db, pass, slices[0]?.dateFrom ?? null);
  await makeRoom(db, pass, at.getTime());
  return findings.isMass ? findings.missing : null;
}

/** Notes what an answer to any pass shows of the service, and how old the newest entries are. */
export async function noteAnswer(
  db: Trx,
  key: ProjectKey,
  { outcome, dateTo, startedAt, source, statuses }: PassSlice,
  { entries, rejected, hasMore }: Pick<PageUpsert, 'entries' | 'rejected' | 'hasMore'>,
  seenAt: string,
): Promise<void> {
  const row = await projectRow(db, key).executeTakeFirst();
  if (row === undefined) return;
  const change: Parameters<typeof changeProject>[2] = {};
  const size = entries.length + rejected.length;
  if (hasMore && size > row.page_size) change.page_size = size;
  if (statuses !== null && row.ignores_status === 0 && entries.some(({ status }) => !statuses.includes(status))) {
    change.ignores_status = 1;
  }
  const cutFor = row.page_size > 0 ? row.page_size : usualShape.pageSize;
  if (change.ignores_status === 1 || (change.page_size ?? cutFor) !== cutFor) change.reshaped = 1;
  const readsNew =
    outcome === 'read' && dateTo === null && source === null && (statuses === null || isOpenList(statuses));
  if (readsNew && startedAt !== null && startedAt > (row.head_read_at ?? '')) change.head_read_at = startedAt;
  if (seenAt > (row.answered_at ?? '')) change.answered_at = seenAt;
  await changeProject(db, key, change);
}

const isOpenList = (statuses: readonly string[]): boolean => statuses.join() === openStatuses.join();

/**
 * What the reading of a page shows of the service. Its dates are exact if an answer reaches from the entry at one bound to
 * the entry at the other: a service that took date-times for their days would have left one out, or sent more. A lower
 * bound alone shows nothing, because a day may begin there; nor does an upper bound of a whole second.
 */
function learntOf({ list }: RefreshPage, slices: readonly PassSlice[]) {
  const orders = slices.flatMap(({ order }) => order ?? []);
  const [slice] = slices;
  const isWhole = slices.length === 1 && slice !== undefined && list === 'all';
  const { dateFrom = null, dateTo = null, oldestSeen = null, newestSeen = null } = slice ?? {};
  const isExact =
    dateFrom !== null &&
    dateTo !== null &&
    oldestSeen === dateFrom &&
    newestSeen === shifted(dateTo, -1) &&
    Date.parse(dateTo) % 1_000 > 0;
  return {
    ...(orders.length > 0 && { oldest_first: Number(orders.every((order) => order === 'oldest')) }),
    ...(isWhole && isExact && { exact_dates: 1 }),
  };
}

/** Tells whether the reading of a page covers a moment completely. */
function provenBy(page: RefreshPage, slices: readonly PassSlice[], exact: boolean): (moment: string | null) => boolean {
  const [first] = slices;
  if (page.list === 'undated') {
    const isWalk = slices.length === 1 && first !== undefined && isWholeWalk(first);
    return (moment) => isWalk && moment === null;
  }
  const { dateFrom = null, dateTo = null } = first ?? {};
  const covered: Coverage | null = exact
    ? { from: dateFrom, to: dateTo === null ? null : shifted(dateTo, -1) }
    : coverageOf({ dateFrom, dateTo }, datesSeen(slices));
  return (moment) => covered !== null && moment !== null && isCovered(covered, moment);
}

/** How many entries a project has, and how many refresh has lost within an hour. */
async function storedOf(db: Trx, { org, project }: ProjectKey, at: Date) {
  const pages = await pagesOfProject(db, { org, project }).where('list', '!=', 'open').execute();
  const { tombstoned } = await db
    .selectFrom('sync_passes')
    .select((row) => row.fn.sum('tombstoned').as('tombstoned'))
    .where(ofProject(org, project))
    .where('pass', '=', 'refresh')
    .where('started_at', '>=', isoText(at.getTime() - hourMs))
    .executeTakeFirstOrThrow();
  return {
    stored: pages.reduce((sum, { entries }) => sum + entries, 0),
    missingElsewhere: Number(tombstoned ?? 0),
  };
}

/** The newest entries were read from a moment on that an earlier reading had reached. */
async function moveWatermark(db: Trx, { passId, org, project }: PassRow, dateFrom: string | null): Promise<void> {
  const before = await watermark(db, org, project);
  const now = await getPass(db, passId);
  if (now === null || now.greatestCreatedAt === null || now.greatestCreatedAt <= (before ?? '')) return;
  if (dateFrom !== null && (before === null || dateFrom > before)) return;
  await db.updateTable('sync_passes').set({ watermark: now.greatestCreatedAt }).where('pass_id', '=', passId).execute();
}

/**
 * Leaves the rows of a run (X4), one for each project in which it found something; others share one an hour, of no
 * project. The next run takes over pages read by half. Returns what the run found; safe to repeat.
 */
export async function endRefreshRun(db: Trx, end: RefreshEnd): Promise<ProjectFindings[]> {
  const finished = end.finishedAt.toISOString();
  for (const row of await readingsUnderWay(db, end)) {
    const isHalfRead = (await currentSlice(db, row.passId)) !== null;
    if (isHalfRead) await handOn(db, row, end);
    const { numUpdatedRows } = await db
      .updateTable('sync_passes')
      .set({ outcome: 'completed', complete: 1, finished_at: finished })
      .where('pass_id', '=', row.passId)
      .where((of) =>
        of.or([
          ...foundCounts.map((count) => of(count, '>', 0)),
          // It has read to its end what a pass that failed had brought.
          of('watermark', 'is not', null),
        ]),
      )
      .executeTakeFirstOrThrow();
    if (numUpdatedRows > 0n) continue;
    await addToQuiet(db, end, row);
    await db.deleteFrom('sync_passes').where('pass_id', '=', row.passId).execute();
  }
  const own = await db
    .selectFrom('sync_passes')
    .selectAll()
    .where('run_id', '=', end.runId)
    .where('outcome', '=', 'completed')
    .where('pass', '=', 'refresh')
    .where('project_id', '<>', '')
    .orderBy('started_at')
    .execute();
  if (own.length === 0 || end.outcome !== 'completed') await addToQuiet(db, end, null);
  return own.map(passRow).flatMap(({ project, entries }) => {
    const { inserted, updated, tombstoned, rejected } = entries;
    if (foundCounts.every((count) => entries[count] === 0)) return [];
    return [{ project, inserted, updated, tombstoned, rejected, problem: null }];
  });
}

/** What a reading finds. */
const foundCounts = ['inserted', 'updated', 'tombstoned'] as const;

/** The row of the next run goes on with a page that is read by half. */
async function handOn(db: Trx, row: PassRow, { workflowId, runId, finishedAt }: RefreshEnd): Promise<void> {
  const passId = randomUUID();
  const { org, project, pass, dateFrom, dateTo } = row;
  const next = { passId, org, project, pass, workflowId, runId, dateFrom, dateTo, startedAt: finishedAt };
  await beginPass(db, { ...next, slices: [] });
  await db
    .updateTable('sync_passes')
    .set({ next_cursor: row.position.cursor, expected_pages: null })
    .where('pass_id', '=', passId)
    .execute();
  for (const table of ['sync_slices', 'sync_cursors', 'refresh_pages'] as const) {
    await db.updateTable(table).set({ pass_id: passId }).where('pass_id', '=', row.passId).execute();
  }
}

/** Adds what a run has read without finding anything to the row of the hour; one that failed has a row of its own. */
async function addToQuiet(db: Trx, end: RefreshEnd, row: PassRow | null): Promise<void> {
  const hour = isoText(Math.floor(end.finishedAt.getTime() / hourMs) * hourMs);
  const { org, workflowId, runId, outcome, error } = end;
  const counts = {
    pages: row?.pages ?? 0,
    requests: row?.requests ?? 0,
    throttled: row?.throttled ?? 0,
    seen: row?.entries.seen ?? 0,
    unchanged: row?.entries.unchanged ?? 0,
    rejected: row?.entries.rejected ?? 0,
  };
  const last = { outcome, error, finished_at: end.finishedAt.toISOString() };
  await db
    .insertInto('sync_passes')
    .values({
      pass_id: outcome === 'completed' ? `refresh:${org}:${hour}` : `refresh:${org}:${runId}`,
      org_id: org,
      project_id: '',
      pass: 'refresh',
      workflow_id: workflowId,
      run_id: runId,
      date_from: null,
      date_to: null,
      started_at: end.startedAt.toISOString(),
      complete: 1,
      ...counts,
      ...last,
    })
    .onConflict((conflict) =>
      conflict.column('pass_id').doUpdateSet({
        ...last,
        ...Object.fromEntries(
          Object.entries(counts).map(([count, more]) => [count, sql`${sql.ref(`sync_passes.${count}`)} + ${more}`]),
        ),
      }),
    )
    .execute();
}
