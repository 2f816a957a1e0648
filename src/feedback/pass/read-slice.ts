import type { Transaction } from 'kysely';
import { dateSlackMs, isMet, joinOrders, orderOf, reachOf, resumedQuery } from '../../model/sync/slice.ts';
import { createdAtUtc } from '../database/created-at.ts';
import { lockProject } from '../database/project-lock.ts';
import { storedText } from '../database/stored-text.ts';
import type { FeedbackDatabase } from '../database/tables.ts';
import { CannotResume, GapInDates, type PageCommit, type PassSlice, RepeatedCursor } from '../feedback-store.ts';
import { advancePass, coverageOfSlice, coverageOfStages, type Pass } from './advance-pass.ts';
import { noteVerified, verifiedRanges } from './noted-ranges.ts';
import { everSwept } from './passes.ts';
import { currentSlice, listSlices, planSlices, updateSlice } from './slices.ts';
import { confirmMissing } from './spare-reading.ts';
import { isMeantOtherwise, noteCoarseDates } from './sync-traits.ts';
import { tombstoneDated, tombstoneUndated } from './tombstones.ts';
import { cameWithoutId, heldCameUnreadable } from './unreadable-entries.ts';

type Db = Transaction<FeedbackDatabase>;

/** Pages in a row that are empty, or the same as one before, and promise more: a service that goes in circles. */
const mostBarrenPages = 5;

/** Times that a query whose cursor dies is begun anew, where no date can help. */
const mostCuts = 3;

/** Pages from which on a request more is no tenth of them. */
const checkedPages = 10;

/** What a page says about the slice it belongs to. */
export interface SlicePage extends Pick<PageCommit, 'entries' | 'rejected' | 'hasMore' | 'mayCheck'> {
  /** Cursor it was asked for with. */
  cursor: string | null;
  /** UTC ISO 8601. */
  askedAt: string;
  /** Digest of its ids. */
  digest: string;
  /** It has entries, and is not the same as a page before. */
  isNew: boolean;
  /** Entries that had been seen before in this reading. */
  repeats: number;
  at: Date;
}

/**
 * Notes a page in its slice; after the last one the slice is proved, checked or done, and the pass goes on. Throws
 * `RepeatedCursor` and `GapInDates`.
 */
export async function noteSlicePage(db: Db, pass: Pass, slice: PassSlice, page: SlicePage): Promise<void> {
  const dates = page.entries.flatMap(({ createdAt }) => createdAtUtc(createdAt) ?? []);
  const sent = page.entries.length + page.rejected.length;
  const barrenPages = page.isNew || !page.hasMore ? 0 : slice.barrenPages + 1;
  if (barrenPages > mostBarrenPages) {
    throw new RepeatedCursor(
      `more than ${mostBarrenPages} pages in a row were empty or given before, and promise more`,
    );
  }
  const order = joinOrders(slice.order, orderOf(dates));
  const read: PassSlice = {
    ...slice,
    outcome: 'reading',
    startedAt: slice.startedAt ?? page.askedAt,
    pages: slice.pages + 1,
    entries: slice.entries + sent,
    repeats: slice.repeats + page.repeats,
    barrenPages,
    order,
    oldestSeen: least([slice.oldestSeen, ...dates]),
    newestSeen: greatest([slice.newestSeen, ...dates]),
    reached: furthest(order, slice.reached, reachOf(dates, order)),
    undatedPlace: undatedPlaceAfter(slice, page.entries),
    lastCursor: page.cursor,
    lastDigest: page.digest,
  };
  if (slice.joinsAt !== null && slice.oldestSeen === null && (dates.length > 0 || !page.hasMore)) {
    if (!isMet(dates, slice.order, slice.joinsAt)) return widen(db, pass, read);
  }
  if (page.hasMore) return writeSlice(db, pass, read);
  if (page.mayCheck === true && (await isWorthACheck(db, pass, read))) {
    return writeSlice(db, pass, { ...read, outcome: 'checking' });
  }
  await endSlice(db, pass, read, page.at, read.pages === 1);
}

/** A sweep of several pages is; a first one may cost its pages and a tenth (S3). Windows of spare requests are. */
async function isWorthACheck(db: Db, pass: Pass, { stage, pages }: PassSlice): Promise<boolean> {
  if (pass.pass === 'verify') return pages >= 2;
  if (pass.pass !== 'sweep' || stage !== 'read' || pages < 2) return false;
  return pages >= checkedPages || (await everSwept(db, pass.org_id, pass.project_id));
}

/** The check of a slice: when its last page is the same once more and no entry came twice, no page has shifted. */
export async function endCheck(db: Db, pass: Pass, same: boolean | null, at: Date): Promise<void> {
  await lockProject(db, pass.project_id);
  const slice = await currentSlice(db, pass.pass_id);
  if (slice?.outcome === 'checking') await endSlice(db, pass, slice, at, same === true);
}

/**
 * The cursor of the current slice is dead: a slice by date goes on where it has come to. Throws `CannotResume`.
 * Queries without dates that exist for their entries without a date are begun anew, a few times.
 */
export async function cutSlice(db: Db, pass: Pass, cursor: string): Promise<void> {
  const slice = await currentSlice(db, pass.pass_id);
  if (slice === null || slice.outcome !== 'reading' || pass.next_cursor !== storedText(cursor)) return;
  const { stage, source, statuses } = slice;
  await updateSlice(db, pass.pass_id, slice.slice, { outcome: 'cut' });
  await db.updateTable('sync_passes').set({ next_cursor: null }).where('pass_id', '=', pass.pass_id).execute();
  if (stage === 'undated') {
    const cuts = (await listSlices(db, pass.pass_id)).filter(
      (other) => other.outcome === 'cut' && other.source === source && other.statuses?.join() === statuses?.join(),
    );
    if (cuts.length > mostCuts) {
      throw new CannotResume(
        `cursors die before the entries without createdAt (source ${source}, status ${statuses?.join()}) are reached; ` +
          'everything with a date is stored',
      );
    }
    return planSlices(db, pass.pass_id, [slice], { order: slice.order, joinsAt: null, slackMs: 0 });
  }
  const query = resumedQuery(slice, slice.order, slice.reached, 0);
  if (query === null) {
    throw new CannotResume('a cursor died, and the entries are not sent in the order of their dates');
  }
  if (slice.joinsAt !== null && !isBeyond(slice)) {
    throw new CannotResume(`cursors die before they lead past the entries of ${slice.joinsAt}`);
  }
  const resumed = { order: slice.order, joinsAt: slice.reached, slackMs: 0 };
  await planSlices(db, pass.pass_id, [{ ...query, stage, expectedPages: null }], resumed);
}

/** The first page did not begin where the slice before ended: the service takes bounds for others than were sent. */
async function widen(db: Db, pass: Pass, slice: PassSlice): Promise<void> {
  const wider = resumedQuery(
    { ...slice, ...(await unboundedBy(db, pass, slice)) },
    slice.order,
    slice.joinsAt,
    dateSlackMs,
  );
  if (slice.slackMs > 0 || wider === null) {
    throw new GapInDates(`the date filter does not return the entries of ${slice.joinsAt}, which came before`);
  }
  await writeSlice(db, pass, { ...slice, outcome: 'cut' });
  await db.updateTable('sync_passes').set({ next_cursor: null }).where('pass_id', '=', pass.pass_id).execute();
  const resumed = { order: slice.order, joinsAt: slice.joinsAt, slackMs: dateSlackMs };
  await planSlices(db, pass.pass_id, [{ ...wider, stage: slice.stage, expectedPages: null }], resumed);
}

/** The bound that the narrower slice put on the side where it goes on is not part of the pass. */
async function unboundedBy(
  db: Db,
  pass: Pass,
  slice: PassSlice,
): Promise<{ dateFrom: string | null; dateTo: string | null }> {
  const first = (await listSlices(db, pass.pass_id)).find(({ stage, joinsAt }) => stage === slice.stage && !joinsAt);
  return slice.order === 'newest'
    ? { dateFrom: slice.dateFrom, dateTo: first?.dateTo ?? null }
    : { dateFrom: first?.dateFrom ?? null, dateTo: slice.dateTo };
}

async function endSlice(db: Db, pass: Pass, slice: PassSlice, at: Date, still: boolean): Promise<void> {
  const read: PassSlice = { ...slice, outcome: 'read' };
  await writeSlice(db, pass, read);
  const { org_id: org, project_id: project } = pass;
  const covered = coverageOfSlice(read);
  const isWhole = read.dateFrom === null && read.dateTo === null;
  const isUnfiltered = read.source === null && read.statuses === null;
  const missing = { passId: pass.pass_id, org, project, unseenSince: pass.started_at, at: at.toISOString() };

  if (pass.pass === 'sweep' && isUnfiltered && isWhole && read.stage === 'read') {
    // Missing now, and at the latest reading that is known to have missed nothing.
    const { undated } = await verifiedRanges(db, org, project);
    if (undated !== null) await tombstoneUndated(db, { ...missing, unseenSince: earlier(undated, pass.started_at) });
    // Learnt anew: a service may change its ways.
    await noteCoarseDates(db, org, project, false);
  }
  if (pass.pass === 'sweep' && (read.stage === 'again' || read.stage === 'wide') && covered !== null) {
    const first = coverageOfStages(pass, await listSlices(db, pass.pass_id), ['read']);
    if (first !== null) await tombstoneDated(db, missing, [first, covered]);
  }
  if (still && read.repeats === 0 && isUnfiltered && covered !== null && read.startedAt !== null) {
    const since = { project, since: read.startedAt };
    const isReadable = !(await cameWithoutId(db, since)) && !(await heldCameUnreadable(db, since));
    if (isReadable) await noteVerified(db, { org, project }, { ...covered, undated: isWhole, at: read.startedAt });
  }
  if (pass.pass === 'verify') await confirmMissing(db, pass, read, at);
  if (await isMeantOtherwise(db, pass, read)) await noteCoarseDates(db, org, project, true);
  await advancePass(db, pass);
}

async function writeSlice(db: Db, pass: Pass, slice: PassSlice): Promise<void> {
  await updateSlice(db, pass.pass_id, slice.slice, {
    outcome: slice.outcome,
    started_at: slice.startedAt,
    pages: slice.pages,
    entries: slice.entries,
    repeats: slice.repeats,
    barren_pages: slice.barrenPages,
    entry_order: slice.order,
    oldest_seen: slice.oldestSeen,
    newest_seen: slice.newestSeen,
    reached: slice.reached,
    undated_place: slice.undatedPlace,
    last_cursor: slice.lastCursor,
    last_digest: slice.lastDigest,
  });
}

/** Whether a slice that goes on for another has come further than that one. */
function isBeyond({ order, reached, joinsAt }: PassSlice): boolean {
  if (reached === null || joinsAt === null) return false;
  return order === 'newest' ? reached < joinsAt : reached > joinsAt;
}

/** Entries whose date cannot be understood count as undated: the service may have them anywhere. */
function undatedPlaceAfter(slice: PassSlice, entries: PageCommit['entries']): PassSlice['undatedPlace'] {
  let place = slice.undatedPlace;
  let datedSeen = slice.oldestSeen !== null;
  for (const { createdAt } of entries) {
    if (createdAtUtc(createdAt) !== null) datedSeen = true;
    else if (datedSeen) place = 'elsewhere';
    else place ??= 'first';
  }
  return place;
}

function furthest(order: PassSlice['order'], a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return order === 'newest' ? earlier(a, b) : later(a, b);
}

function least(dates: readonly (string | null)[]): string | null {
  return dates.reduce((a, b) => (a === null || b === null ? (a ?? b) : earlier(a, b)), null);
}

function greatest(dates: readonly (string | null)[]): string | null {
  return dates.reduce((a, b) => (a === null || b === null ? (a ?? b) : later(a, b)), null);
}

const earlier = (a: string, b: string): string => (a < b ? a : b);
const later = (a: string, b: string): string => (a > b ? a : b);
