import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { feedbackStats, storedProjects } from '../figures/project-figures.ts';
import { reportFigures } from '../figures/read-report-figures.ts';
import { countUndated, entryRecords } from '../files/stored-records.ts';
import { applyPrivacy, areWordsLeft, countUntreated, expire, recentlyScrubbed } from '../privacy/apply-privacy.ts';
import { eraseContact } from '../privacy/erase-contact.ts';
import type { Erasure, ErasureRequest, Privacy } from '../privacy/privacy.ts';
import { cutSlice, endCheck, planPass, verifiedRanges, verifiedUpTo } from '../reading/pass-facts.ts';
import {
  beginPass,
  countRequests,
  currentSlice,
  everSwept,
  finishPass,
  getPass,
  listPasses,
  listSlices,
  lockedPass,
  type PageUpsert,
  watermark,
} from '../reading/passes.ts';
import { isCutDue, prepareProject } from '../reading/refresh-cuts.ts';
import {
  abandonReading,
  beginFirstReading,
  beginReading,
  endFirstReading,
  endRefreshRun,
  type GivenUp,
  lastPause,
} from '../reading/refresh-readings.ts';
import {
  changeProject,
  readableProjects,
  refreshDelays,
  refreshOutlook,
  refreshView,
  savePace,
} from '../reading/refresh-state.ts';
import { upsertPage } from '../reading/upsert-page.ts';
import type { ProjectKey } from '../rules/feedback-entry.ts';
import { indexMore, indexProgress } from '../search/build-index.ts';
import { entryDetail, findDocuments, findEntries, findRecords, findTrend } from '../search/find-entries.ts';
import type { OpenAudit } from './audit-records.ts';
import { listAuditEntries, recordAuditEntries } from './audit-records.ts';
import { refuseNewer } from './migrations.ts';
import { lastExports, markTold, noticeRows, turnNotice } from './notice-records.ts';
import { changedEntries, moveWebhookPosition, newestChange, webhookPosition, weekFigures } from './outgoing-entries.ts';
import { storeLineage } from './store-lineage.ts';
import { jobDurations, latestRecords, listExportRuns, recordExportRun } from './stored-runs.ts';
import type { Db, Trx } from './tables.ts';

interface StoreSettings {
  /** For messages. */
  place: string;
  privacy: Privacy;
  /** Removes deleted bytes from the files; `daily`: what takes long once a day. False if programs are in the way. */
  scrub(how: 'now' | 'daily'): Promise<boolean>;
}

/** In milliseconds: the step that ends a pass has ten seconds, and does not wait longer for the scrubbing. */
const scrubWaitAtPassEndMs = 5_000;
/** In milliseconds: then a worker starts working, even if the scrubbing goes on. */
const scrubWaitAtStartMs = 120_000;

/** The team's own database (contracts.md "Database"). What a method writes is one transaction, and safe to repeat. */
export type FeedbackStore = Awaited<ReturnType<typeof sqlFeedbackStore>>;

/** Functions without their first argument, which the store provides. */
type Methods<Functions> = {
  [Name in keyof Functions]: Functions[Name] extends (db: never, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

/** The feedback store over a migrated database of any dialect. */
export async function sqlFeedbackStore(db: Db, { place, privacy, scrub }: StoreSettings) {
  const write = writing(db, (trx) => refuseNewer(trx, place));
  /** For all projects whose passes end meanwhile. */
  let scrubbing: Promise<boolean> | null = null;
  const lineage = await write(storeLineage);
  const methods =
    (run: (work: (handle: never) => unknown) => unknown) =>
    <Functions extends Record<string, (handle: never, ...rest: never[]) => unknown>>(functions: Functions) =>
      Object.fromEntries(
        Object.entries(functions).map(([name, work]) => [
          name,
          (...rest: never[]) => run((handle) => work(handle, ...rest)),
        ]),
      ) as Methods<Functions>;
  const reads = methods((work) => work(db as never));
  const writes = methods((work) => write(async (trx) => work(trx as never)));
  const reading = {
    ...reads({
      getPass,
      currentSlice,
      listSlices,
      listPasses,
      refreshView,
      lastPause,
      readableProjects,
      refreshOutlook,
      refreshDelays,
      planPass,
      verifiedRanges,
      verifiedUpTo,
      watermark,
      everSwept,
      countEntries,
      entryRecords,
      countUndated,
      storedProjects,
      stats: feedbackStats,
      reportFigures,
      listExportRuns,
      jobDurations,
      latestRecords,
      listAuditEntries,
      noticeRows,
      lastExports,
      changedEntries,
      newestChange,
      webhookPosition,
      weekFigures,
      indexProgress,
      findEntries,
      findDocuments,
      findRecords,
      findTrend,
      entryDetail,
    }),
    countUntreated: (at: Date) => countUntreated(db, privacy, at),
  };
  return {
    ...lineage,
    ...reading,
    /** Names of the methods that change nothing. */
    readers: Object.keys(reading),
    ...writes({
      beginPass,
      countRequests,
      finishPass,
      saveRefreshPace: savePace,
      beginReading,
      beginFirstReading,
      endRefreshRun,
      recordExportRun,
      turnNotice,
      markTold,
      moveWebhookPosition,
      indexMore,
      checkWritable,
    }),
    ...auditIn(db),
    upsertPage: (page: PageUpsert) => write((trx) => upsertPage(trx, page, privacy)),
    cutSlice: (passId: string, cursor: string) =>
      write(async (trx) => cutSlice(trx, await lockedPass(trx, passId), cursor)),
    endCheck: (passId: string, same: boolean | null, at: Date) =>
      write(async (trx) => endCheck(trx, await lockedPass(trx, passId), same, at)),
    /** Cuts the lists of the projects where that is due. `at` is in milliseconds. */
    async prepareRefresh(org: string, projects: readonly string[], at: number) {
      for (const project of projects) {
        if (await isCutDue(db, { org, project }, at)) await write((trx) => prepareProject(trx, { org, project }, at));
      }
    },
    abandonReading: (passId: string, how: GivenUp) =>
      write(async (trx) => abandonReading(trx, await lockedPass(trx, passId), how)),
    endFirstReading: (passId: string, at: Date) =>
      write(async (trx) => endFirstReading(trx, await lockedPass(trx, passId), at)),
    /** A first reading that failed does not go on before this moment, in milliseconds. */
    deferFirstReading: (key: ProjectKey, notBefore: number) =>
      write((trx) => changeProject(trx, key, { not_before: notBefore })),
    /** Removes a person from every table and keeps them out of later pages, even if they were not stored. */
    async erase(request: ErasureRequest): Promise<Erasure> {
      const erased = await write((trx) => eraseContact(trx, privacy, request));
      return { ...erased, scrubbed: await scrub('now') };
    },
    async applyPrivacy(at: Date) {
      const treated = await applyPrivacy(db, write, privacy, at);
      if (treated.entries + treated.rejects > 0 || (await areWordsLeft(db))) {
        await briefly(scrub('now'), scrubWaitAtStartMs);
      }
      return treated;
    },
    async expire(projects: readonly string[], at: Date) {
      const treated = await expire(db, write, projects, privacy, at);
      // Also if nothing was too old: an earlier worker may have been killed before it scrubbed.
      if (treated.entries + treated.rejects > 0 || (privacy.retentionMs !== null && !(await recentlyScrubbed(db)))) {
        scrubbing ??= scrub('daily').finally(() => {
          scrubbing = null;
        });
        await briefly(scrubbing, scrubWaitAtPassEndMs);
      }
      return treated;
    },
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
function writing(db: Db, begin: (trx: Trx) => Promise<void> = async () => {}) {
  return <T>(work: (trx: Trx) => Promise<T>): Promise<T> =>
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
  const [{ entries, rejects, tombstones } = { entries: 0, rejects: 0, tombstones: 0 }] = await storedProjects(
    db,
    [{ org, project }],
    0,
  );
  return { entries, rejects, tombstones };
}

/** Writes and removes a row, to show that the store is writable. */
async function checkWritable(trx: Trx): Promise<void> {
  const key = { project_id: 'docferry:check-writable', id: randomUUID() };
  await trx
    .insertInto('feedback_rejects')
    .values({ ...key, raw: '', reason: '', seen_at: '' })
    .execute();
  await trx.deleteFrom('feedback_rejects').where('project_id', '=', key.project_id).where('id', '=', key.id).execute();
}
