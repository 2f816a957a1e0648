import { setImmediate as letOthersRun } from 'node:timers/promises';
import { sql } from 'kysely';
import type { ProjectKey } from '../rules/feedback-entry.ts';
import {
  covers,
  isHeadFull,
  listCutter,
  type PageShape,
  type RefreshPage,
  shiftHead,
  usualShape,
} from '../rules/refresh/pages.ts';
import {
  dayMs,
  faded,
  hourMs,
  noTallies,
  pooled,
  type RefreshEntry,
  ratesOf,
  type Tallies,
} from '../rules/refresh/rates.ts';
import { isoText } from '../rules/slice.ts';
import { lockProject, ofProject } from '../store/queries.ts';
import type { Db, Trx } from '../store/tables.ts';
import { currentSlice, datesAreCoarse, everSwept, finishPass } from './passes.ts';
import {
  changePage,
  changeProject,
  cutOf,
  deletePage,
  entriesOfPage,
  neighbour,
  notedEntries,
  type ProjectRow,
  pageOf,
  pagesOfProject,
  projectRow,
  refreshEntry,
  refreshProject,
  writePages,
} from './refresh-state.ts';

/* How the entries of a project are cut into the pages that refresh reads. */

/** Whether the lists of a project are to be cut: once a day, and when something was learnt of the service. */
export async function isCutDue(db: Db, key: ProjectKey, at: number): Promise<boolean> {
  const row = await projectRow(db, key).executeTakeFirst();
  // A clock that was wrong may have cut them in the future.
  return !row || row.cut_at === null || row.reshaped === 1 || Math.abs(at - row.cut_at) > dayMs || wasAhead(row, at);
}

/** Cuts the lists of a project into pages as far as it has been read. */
export async function prepareProject(db: Trx, key: ProjectKey, at: number): Promise<void> {
  const { first_pass: first, cut_at: cutAt } = await refreshProject(db, key);
  const isSwept = await everSwept(db, key.org, key.project);
  if (isSwept && first !== null) {
    // Another sweep came to its end first.
    await finishPass(db, first, { outcome: 'cancelled', error: null, waitedMs: 0, finishedAt: new Date(at) });
    await changeProject(db, key, { first_pass: null });
  }
  if (isSwept || (first === null && cutAt !== null)) await cutProject(db, key, at, null);
  if (isSwept || first === null) return;
  const slice = await currentSlice(db, first);
  // Services that send the oldest first have no head before everything is read.
  if (slice?.order === 'newest' && slice.reached !== null) await cutProject(db, key, at, Date.parse(slice.reached));
}

/** Entries read at a time while a project's lists are cut. */
const entriesPerBatch = 2_000;

/**
 * Replaces a project's pages by pages cut from its lists as they are now, by the rates at which entries were seen to
 * change so far. It reads entries in batches, and other work runs between them. Entries older than `floor`, the date
 * that a first reading has reached, stay out.
 */
export async function cutProject(db: Trx, key: ProjectKey, at: number, floor: number | null): Promise<void> {
  await lockProject(db, key.project);
  let row = await refreshProject(db, key);
  if (wasAhead(row, at)) row = await takeBack(db, row, at);
  const before = await pagesOfProject(db, key).execute();
  const rates = ratesOf(await fadeRates(db, row, at), pooled(await talliesOf(db, key.org)));
  const lists = listCutter(key.project, { at, rates }, await shapeOf(db, row, at));
  for await (const entry of entriesByDate(db, key, floor)) lists.add(entry);
  const pages = lists
    .pages(before.map((page) => notAfter(pageOf(page), at)))
    .filter(({ list }) => floor === null || list !== 'undated')
    // What was read before there were pages was read by the passes that brought it: none of it is known to be missing.
    .map((page) => ({ ...page, from: page.from ?? floor, readAt: page.readAt ?? 0 }));
  await db.deleteFrom('refresh_pages').where(ofProject(key.org, key.project)).execute();
  await writePages(db, key.org, pages);
  // What is being read goes on as the page that has taken its place.
  for (const { pass_id, list, date_from } of before.filter((page) => page.pass_id !== null)) {
    const place = pages.find((page) => page.list === list && (list === 'undated' || covers(page, date_from)));
    if (place !== undefined) await changePage(db, key.org, place).set({ pass_id }).execute();
  }
  await changeProject(db, key, { cut_at: at, rates: JSON.stringify(rates), reshaped: 0 });
}

/** Whether a clock was ahead when answers of the project came: by more than workers' questions wait in queues. */
const wasAhead = ({ answered_at }: ProjectRow, at: number): boolean =>
  answered_at !== null && Date.parse(answered_at) > at + hourMs;

/** What was seen by a clock that was ahead counts as seen at `at`, when it is right again. */
async function takeBack(db: Trx, row: ProjectRow, at: number): Promise<ProjectRow> {
  const key = { org: row.org_id, project: row.project_id };
  const now = isoText(at);
  await db
    .updateTable('feedback')
    .set({ last_seen_at: now })
    .where(ofProject(key.org, key.project))
    .where('last_seen_at', '>', now)
    .execute();
  const running = db
    .selectFrom('sync_passes')
    .select('pass_id')
    .where(ofProject(key.org, key.project))
    .where('outcome', '=', sql.lit('running'));
  for (const table of ['sync_passes', 'sync_slices'] as const) {
    await db
      .updateTable(table)
      .set({ started_at: now })
      .where('pass_id', 'in', running)
      .where('started_at', '>', now)
      .execute();
  }
  const change = {
    answered_at: now,
    head_read_at: row.head_read_at !== null && row.head_read_at > now ? now : row.head_read_at,
    arrivals_at: Math.min(row.arrivals_at, at),
    taught_at: Math.min(row.taught_at, at),
  };
  await changeProject(db, key, change);
  return { ...row, ...change };
}

function notAfter(page: RefreshPage, at: number): RefreshPage {
  const upTo = (moment: number | null) => (moment === null ? null : Math.min(moment, at));
  return {
    ...page,
    readAt: upTo(page.readAt),
    again: upTo(page.again),
    againFrom: page.again !== null && page.again > at ? at : page.againFrom,
  };
}

/** Newest first, those without a date last. */
async function* entriesByDate(
  db: Trx,
  key: ProjectKey,
  floor: number | null,
): AsyncGenerator<RefreshEntry, void, undefined> {
  for (const undated of [false, true]) {
    for (let after: { created_at_utc: string | null; id: string } | undefined; ; ) {
      const { created_at_utc: moment, id } = after ?? { created_at_utc: '9999', id: '' };
      const rows = await notedEntries(db, key)
        .where('f.created_at_utc', undated ? 'is' : 'is not', null)
        .where((row) =>
          undated
            ? row('f.id', '>', after === undefined ? '' : id)
            : row(row.refTuple('f.created_at_utc', 'f.id'), '<', row.tuple(moment ?? '', id)),
        )
        .$if(!undated, (query) => query.orderBy('f.created_at_utc', 'desc').orderBy('f.id', 'desc'))
        .$if(undated, (query) => query.orderBy('f.id'))
        .$if(floor !== null && !undated, (query) => query.where('f.created_at_utc', '>=', isoText(floor ?? 0)))
        .limit(entriesPerBatch)
        .execute();
      for (const row of rows) yield refreshEntry(row, row);
      after = rows.at(-1);
      if (rows.length < entriesPerBatch) break;
      await letOthersRun();
    }
  }
}

async function fadeRates(db: Trx, row: ProjectRow, at: number): Promise<Tallies> {
  const key = { org: row.org_id, project: row.project_id };
  const own = faded(await talliesOf(db, key.org, key.project), row.taught_at === 0 ? 0 : at - row.taught_at);
  for (const [kind, tally] of own.entries()) {
    await db
      .updateTable('refresh_rates')
      .set(tally)
      .where(ofProject(key.org, key.project))
      .where('kind', '=', kind)
      .execute();
  }
  await changeProject(db, key, { taught_at: at });
  return own;
}

/** What was seen in a project, or each project of an organization. */
async function talliesOf(db: Trx, org: string, project: string): Promise<Tallies>;
async function talliesOf(db: Trx, org: string): Promise<Tallies[]>;
async function talliesOf(db: Trx, org: string, project?: string): Promise<Tallies | Tallies[]> {
  const rows = await db
    .selectFrom('refresh_rates')
    .selectAll()
    .where('org_id', '=', org)
    .$if(project !== undefined, (query) => query.where('project_id', '=', project ?? ''))
    .execute();
  const of = (name: string): Tallies =>
    noTallies.map((none, kind) => rows.find((row) => row.project_id === name && row.kind === kind) ?? none);
  return project === undefined ? [...new Set(rows.map((row) => row.project_id))].map(of) : of(project);
}

/** What was learnt of the service of a project, as far as it decides how its lists are cut. */
async function shapeOf(db: Trx, row: ProjectRow, at: number): Promise<PageShape> {
  const key = { org: row.org_id, project: row.project_id };
  const newest = row.oldest_first === 1 ? await neighbour(db, key, null, 'older') : null;
  return {
    pageSize: row.page_size > 0 ? row.page_size : usualShape.pageSize,
    ignoresStatus: row.ignores_status === 1,
    coarse: await datesAreCoarse(db, key.org, key.project),
    headFrom: newest === null ? null : Date.parse(newest) - dayMs,
    headBy: at,
  };
}

/** Heads that have filled hand their older entries down. */
export async function makeRoom(db: Trx, key: ProjectKey, at: number): Promise<void> {
  const project = await refreshProject(db, key);
  const cut = cutOf(project);
  if (cut === null) return;
  const shape = await shapeOf(db, project, at);
  const rows = await pagesOfProject(db, key).where('list', '!=', 'undated').where('pass_id', 'is', null).execute();
  for (const head of rows.map(pageOf).filter((page) => isHeadFull(page, shape))) {
    // One that could not be read stays as it is until its pause ends.
    const row = rows.find(({ list, date_to, not_before }) => {
      return list === head.list && date_to === head.from && not_before <= at;
    });
    const below = row === undefined ? null : pageOf(row);
    const pages = shiftHead(head, below, await entriesOfPage(db, key.org, head), cut, shape);
    for (const page of [head, ...(below === null ? [] : [below])]) await deletePage(db, key.org, page);
    await writePages(db, key.org, pages);
  }
}
