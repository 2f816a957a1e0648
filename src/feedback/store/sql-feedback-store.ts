import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { feedbackStats, storedProjects } from '../figures/project-figures.ts';
import { reportFigures } from '../figures/read-report-figures.ts';
import { countUndated, entryRecords } from '../files/stored-records.ts';
import { applyPrivacy, areWordsLeft, countUntreated, expire, recentlyScrubbed } from '../privacy/apply-privacy.ts';
import { eraseContact } from '../privacy/erase-contact.ts';
import type { Privacy } from '../privacy/privacy.ts';
import { cutSlice, endCheck } from '../reading/advance-pass.ts';
import { storedCounts, verifiedRanges, verifiedUpTo } from '../reading/pass-facts.ts';
import {
  beginPass,
  countRequests,
  everSwept,
  finishPass,
  getPass,
  listPasses,
  lockedPass,
  watermark,
} from '../reading/passes.ts';
import {
  abandonReading,
  beginFirstReading,
  beginReading,
  endFirstReading,
  endRefreshRun,
  isCutDue,
  prepareProject,
} from '../reading/refresh-readings.ts';
import { changeProject, refreshDelays, refreshOutlook, refreshView, savePace } from '../reading/refresh-state.ts';
import { currentSlice, listSlices } from '../reading/slices.ts';
import { upsertPage } from '../reading/upsert-page.ts';
import { indexMore } from '../search/build-index.ts';
import { entryDetail, findDocuments, findEntries, findRecords } from '../search/find-entries.ts';
import type { OpenAudit } from './audit-records.ts';
import { listAuditEntries, recordAuditEntries } from './audit-records.ts';
import type { FeedbackStore } from './feedback-store.ts';
import { refuseNewer } from './migrations.ts';
import { lastExports, markTold, noticeRows, turnNotice } from './notice-records.ts';
import { changedEntries, moveWebhookPosition, newestChange, webhookPosition, weekFigures } from './outgoing-entries.ts';
import { countRows, storedEntries } from './queries.ts';
import { storeLineage } from './store-lineage.ts';
import { jobDurations, latestRecords, listExportRuns, recordExportRun } from './stored-runs.ts';
import type { FeedbackDatabase } from './tables.ts';

type Db = Kysely<FeedbackDatabase>;

interface StoreSettings {
  /** For messages. */
  place: string;
  privacy: Privacy;
  /**
   * Removes the bytes of deleted content from the database's files; `daily`: what takes long only once a day. False if
   * other programs are in the way.
   */
  scrub(how: 'now' | 'daily'): Promise<boolean>;
}

/** In milliseconds: the step that ends a pass has ten seconds, and does not wait longer for the scrubbing. */
const scrubWaitAtPassEndMs = 5_000;
/** In milliseconds: then a worker starts working, even if the scrubbing goes on. */
const scrubWaitAtStartMs = 120_000;

/** The feedback store over a migrated database of any dialect. */
export async function sqlFeedbackStore(db: Db, { place, privacy, scrub }: StoreSettings): Promise<FeedbackStore> {
  const write = writing(db, (trx) => refuseNewer(trx, place));
  /** For all projects whose passes end meanwhile. */
  let scrubbing: Promise<boolean> | null = null;
  const lineage = await write(storeLineage);
  return {
    ...lineage,
    beginPass: (pass) => write((trx) => beginPass(trx, pass)),
    getPass: (passId) => getPass(db, passId),
    upsertPage: (page) => write((trx) => upsertPage(trx, page, privacy)),
    currentSlice: (passId) => currentSlice(db, passId),
    listSlices: (passId) => listSlices(db, passId),
    cutSlice: (passId, cursor) => write(async (trx) => cutSlice(trx, await lockedPass(trx, passId), cursor)),
    endCheck: (passId, same, at) => write(async (trx) => endCheck(trx, await lockedPass(trx, passId), same, at)),
    refreshView: (org, projects, at) => refreshView(db, org, projects, at),
    refreshOutlook: (org, projects, at) => refreshOutlook(db, org, projects, at),
    refreshDelays: (organization, window, at) => refreshDelays(db, organization, window, at),
    async prepareRefresh(org, projects, at) {
      for (const project of projects) {
        if (await isCutDue(db, { org, project }, at)) await write((trx) => prepareProject(trx, { org, project }, at));
      }
    },
    saveRefreshPace: (org, pace) => write((trx) => savePace(trx, org, pace)),
    beginReading: (org, page, run, at) => write((trx) => beginReading(trx, org, page, run, at)),
    abandonReading: (passId, notBefore) =>
      write(async (trx) => abandonReading(trx, await lockedPass(trx, passId), notBefore)),
    beginFirstReading: (key, run, at) => write((trx) => beginFirstReading(trx, key, run, at)),
    endFirstReading: (passId, at) => write(async (trx) => endFirstReading(trx, await lockedPass(trx, passId), at)),
    deferFirstReading: (key, notBefore) => write((trx) => changeProject(trx, key, { not_before: notBefore })),
    endRefreshRun: (end) => write((trx) => endRefreshRun(trx, end)),
    storedCounts: (org, project, bounds) => storedCounts(db, org, project, bounds),
    verifiedRanges: (org, project) => verifiedRanges(db, org, project),
    verifiedUpTo: (org, project) => verifiedUpTo(db, org, project),
    countRequests: (passId, spent) => write((trx) => countRequests(trx, passId, spent)),
    finishPass: (passId, result) => write((trx) => finishPass(trx, passId, result)),
    watermark: (org, project) => watermark(db, org, project),
    everSwept: (org, project) => everSwept(db, org, project),
    listPasses: (filter) => listPasses(db, filter),
    countEntries: (org, project) => countEntries(db, org, project),
    entryRecords: (filter) => entryRecords(db, filter),
    countUndated: (filter) => countUndated(db, filter),
    storedProjects: (projects, passes) => storedProjects(db, projects, passes),
    stats: (org, project) => feedbackStats(db, org, project),
    reportFigures: (query) => reportFigures(db, query),
    recordExportRun: (row) => write((trx) => recordExportRun(trx, row)),
    listExportRuns: (filter) => listExportRuns(db, filter),
    jobDurations: (org, domain, limit) => jobDurations(db, org, domain, limit),
    ...auditIn(db),
    listAuditEntries: (filter) => listAuditEntries(db, filter),
    turnNotice: (turn) => write((trx) => turnNotice(trx, turn)),
    noticeRows: (org) => noticeRows(db, org),
    markTold: (org, rows, at) => write((trx) => markTold(trx, org, rows, at)),
    lastExports: (org) => lastExports(db, org),
    changedEntries: (range, filter, most) => changedEntries(db, range, filter, most),
    newestChange: (project) => newestChange(db, project),
    webhookPosition: (org, webhook, about) => webhookPosition(db, org, webhook, about),
    moveWebhookPosition: (org, webhook, about, position) =>
      write((trx) => moveWebhookPosition(trx, org, webhook, about, position)),
    weekFigures: (org, from, to) => weekFigures(db, org, from, to),
    latestRecords: (of) => latestRecords(db, of),
    findEntries: (query) => findEntries(db, query),
    findDocuments: (query) => findDocuments(db, query),
    findRecords: (selection) => findRecords(db, selection),
    entryDetail: (project, id, how) => entryDetail(db, project, id, how),
    indexMore: () => write(indexMore),
    async erase(request) {
      const erased = await write((trx) => eraseContact(trx, privacy, request));
      return { ...erased, scrubbed: await scrub('now') };
    },
    async applyPrivacy(at) {
      const treated = await applyPrivacy(db, write, privacy, at);
      if (treated.entries + treated.rejects > 0 || (await areWordsLeft(db))) {
        await briefly(scrub('now'), scrubWaitAtStartMs);
      }
      return treated;
    },
    async expire(project, at) {
      const treated = await expire(write, project, privacy, at);
      // Also if nothing was too old: an earlier worker may have been killed before it scrubbed.
      if (treated.entries + treated.rejects > 0 || (privacy.retentionMs !== null && !(await recentlyScrubbed(db)))) {
        scrubbing ??= scrub('daily').finally(() => {
          scrubbing = null;
        });
        await briefly(scrubbing, scrubWaitAtPassEndMs);
      }
      return treated;
    },
    countUntreated: (at) => countUntreated(db, privacy, at),
    checkWritable: () => write(writeAndRemoveRow),
  };
}

/** The audit in a database of any dialect. */
export function auditIn(db: Db): OpenAudit {
  return {
    recordAuditEntries: (auditEntries) => writing(db)((trx) => recordAuditEntries(trx, auditEntries)),
    close: () => db.destroy(),
  };
}

/** Runs transactions at a named level: under another default of the database they may fail because of concurrent ones. */
function writing(db: Db, begin: (trx: Transaction<FeedbackDatabase>) => Promise<void> = async () => {}) {
  return <T>(work: (trx: Transaction<FeedbackDatabase>) => Promise<T>): Promise<T> =>
    db
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (trx) => {
        await begin(trx);
        return await work(trx);
      });
}

async function briefly(work: Promise<unknown>, ms: number): Promise<void> {
  await Promise.race([work, sleep(ms, undefined, { ref: false })]);
}

/** `entries` are those the service still has as far as docferry knows, `tombstones` those it no longer has. */
async function countEntries(
  db: Db,
  org: string,
  project: string,
): Promise<{ entries: number; rejects: number; tombstones: number }> {
  const stored = storedEntries(db, { org, project });
  return {
    entries: await countRows(stored.where('deleted_at', 'is', null)),
    rejects: await countRows(db.selectFrom('feedback_rejects').where('project_id', '=', project)),
    tombstones: await countRows(stored.where('deleted_at', 'is not', null)),
  };
}

async function writeAndRemoveRow(trx: Transaction<FeedbackDatabase>): Promise<void> {
  const key = { project_id: 'docferry:check-writable', id: randomUUID() };
  await trx
    .insertInto('feedback_rejects')
    .values({ ...key, raw: '', reason: '', seen_at: '' })
    .execute();
  await trx.deleteFrom('feedback_rejects').where('project_id', '=', key.project_id).where('id', '=', key.id).execute();
}
