import { once } from 'node:events';
import { readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { createActivities } from '../../src/activities/index.ts';
import { sendDueNotices } from '../../src/activities/notices.ts';
import { ReadersCheck } from '../../src/exports/rollout/check-readers.ts';
import { DirectoryPlace } from '../../src/exports/rollout/directory-place.ts';
import {
  approveExport,
  type ExportHandle,
  exportState,
  rejectExport,
  startExport,
  startRollback,
} from '../../src/operations/exports.ts';
import { noticeTypes } from '../../src/runs/rules/notices.ts';
import { bulkQueueOf, checksQueueOf, urgentQueueOf } from '../../src/temporal/rules/failover.ts';
import { activityScene } from '../tools/activity-dependencies.ts';
import { type Item, tarGz } from '../tools/bundle/build-archive.ts';
import { forThisFile, timeSkippingEnvironment, workflowBundle } from '../tools/temporal/temporal.ts';

/**
 * What docferry promises of a month of hourly exports (E6 to E9, X9), written before it is played. Contents have letters:
 * with `-` two of ten pages are missing, with `!` a link is broken (both ask), with `?` there is no index page (refused).
 * A hold is by a person, or by the check (`check`). A return that failed is taken again every hour. A row of several hours is the same in each of them.
 */
const month = `
 hours   | content | what happens      | outcome        | why                         | in service | held at | notices
 0       | a       |                   | published      |                             | a          |         |
 1-23    | a       |                   | unchanged      |                             | a          |         |
 24      | b       |                   | published      |                             | b          |         |
 25-47   | b       |                   | unchanged      |                             | b          |         |
 48      | c-      |                   | waits          | pages-removed               | b          |         | approval.wanted begun
 49-50   | c-      |                   | waits          | pages-removed               | b          |         |
 51      | c-      | approved          | published      |                             | c-         |         | approval.wanted ended
 52-71   | c-      |                   | unchanged      |                             | c-         |         |
 72      | d       |                   | published      |                             | d          |         |
 73-95   | d       |                   | unchanged      |                             | d          |         |
 96      | e!      |                   | waits          | broken-link                 | d          |         | approval.wanted begun
 97      | e!      |                   | waits          | broken-link                 | d          |         |
 98      | e!      | rejected          | rejected       | not-approved                | d          |         | approval.wanted ended
 99      | e!      |                   | waits          | broken-link                 | d          |         | approval.wanted begun
 100-123 | e!      |                   | waits          | broken-link                 | d          |         |
 124     | e!      |                   | waits          | broken-link                 | d          |         | approval.wanted begun
 125-129 | e!      |                   | waits          | broken-link                 | d          |         |
 130     | e!      | nobody decides    | rejected       | approval-expired            | d          |         | approval.wanted ended
 131     | f       |                   | published      |                             | f          |         |
 132-149 | f       |                   | unchanged      |                             | f          |         |
 150     | g       | readers miss g    | rollout-failed | check-failed                | f          | f check | rollout.failed begun
 151-160 | g       |                   | unchanged      | check-failed                | f          | f check |
 161     | h       |                   | published      |                             | h          |         | rollout.failed ended
 162-169 | h       |                   | unchanged      |                             | h          |         |
 170     | i       | readers miss i    | rollout-failed | check-failed                | h          | h check | rollout.failed begun
 171     | i       |                   | unchanged      | check-failed                | h          | h check |
 172     | i       | released          | rollout-failed | check-failed                | h          | h check |
 173     | i       |                   | unchanged      | check-failed                | h          | h check |
 174     | i       | readers get all   | unchanged      | check-failed                | h          | h check |
 175     | i       | released          | published      |                             | i          |         | rollout.failed ended
 176-179 | i       |                   | unchanged      |                             | i          |         |
 180     | i       | back to h         | rolled-back    |                             | h          | h       | site.rolled-back happened
 181-199 | i       |                   | unchanged      |                             | h          | h       |
 200     | i       | released          | published      |                             | i          |         |
 201-209 | i       |                   | unchanged      |                             | i          |         |
 210     | i       | held              | unchanged      |                             | i          | i       |
 211-214 | i       |                   | unchanged      |                             | i          | i       |
 215     | j       |                   | published      |                             | i          | i       |
 216-220 | j       |                   | unchanged      |                             | i          | i       |
 221     | k-      |                   | published      |                             | i          | i       |
 222-229 | k-      |                   | unchanged      |                             | i          | i       |
 230     | k-      | released          | waits          | pages-removed               | i          |         | approval.wanted begun
 231     | k-      | approved          | published      |                             | k-         |         | approval.wanted ended
 232-239 | k-      |                   | unchanged      |                             | k-         |         |
 240     | l?      |                   | rejected       | no-index-page               | k-         |         | export.refused begun
 241-250 | l?      |                   | rejected       | no-index-page               | k-         |         |
 251     | m       |                   | published      |                             | m          |         | export.refused ended
 252-279 | m       |                   | unchanged      |                             | m          |         |
 280     | n-      | readers miss n-   | waits          | pages-removed               | m          |         | approval.wanted begun
 281     | n-      | approved          | rollout-failed | check-failed                | m          | m check | approval.wanted ended, rollout.failed begun
 282-299 | n-      |                   | unchanged      | check-failed                | m          | m check |
 300     | m       |                   | unchanged      |                             | m          |         | rollout.failed ended
 301-309 | m       |                   | unchanged      |                             | m          |         |
 310     | n-      |                   | waits          | pages-removed               | m          |         | approval.wanted begun
 311     | n-      | approved          | rollout-failed | check-failed                | m          | m check | approval.wanted ended, rollout.failed begun
 312-319 | n-      |                   | unchanged      | check-failed                | m          | m check |
 320     | o       |                   | published      |                             | o          |         | rollout.failed ended
 321-329 | o       |                   | unchanged      |                             | o          |         |
 330     | p       | readers miss all  | rollout-failed | return-failed, check-failed | o          | o check | rollout.failed begun
 331-339 | p       |                   | rollout-failed | return-failed, check-failed | o          | o check |
 340     | p       | readers get all   | unchanged      | check-failed                | o          | o check |
 341     | p       | forced            | published      |                             | p          |         | rollout.failed ended
 342-359 | p       |                   | unchanged      |                             | p          |         |
 360     | q!      |                   | waits          | broken-link                 | p          |         | approval.wanted begun
 361     | q!      | back to o         | rolled-back    |                             | o          | o       | approval.wanted ended, site.rolled-back happened
 362     | q!      |                   | published      |                             | o          | o       |
 363-379 | q!      |                   | unchanged      |                             | o          | o       |
 380     | r       | released          | published      |                             | r          |         |
 381-399 | r       |                   | unchanged      |                             | r          |         |
 400     | s       | held              | published      |                             | r          | r       |
 401     | t       | readers miss t    | published      |                             | r          | r       |
 402-409 | t       |                   | unchanged      |                             | r          | r       |
 410     | t       | released          | rollout-failed | check-failed                | r          | r check | rollout.failed begun
 411-419 | t       |                   | unchanged      | check-failed                | r          | r check |
 420     | t       | back to p         | rolled-back    |                             | p          | p       | rollout.failed ended, site.rolled-back happened
 421-439 | t       |                   | unchanged      |                             | p          | p       |
 440     | u       | released          | published      |                             | u          |         |
 441-719 | u       |                   | unchanged      |                             | u          |         |
`;

const columns = 'outcome | why | in service | held at | notices';
const rows = month
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [hours = '', content = '', what = '', ...expected] = line.split('|').map((cell) => cell.trim());
    const [from = 0, to = from] = hours.split('-').map(Number);
    return { from, to, content, what, expected };
  });

const hourMs = 3_600_000;
const gateMs = 30 * hourMs + 1_800_000;
const [org, domain, taskQueue] = ['acme', 'docs.acme.example', 'month'];

/** Ten pages, of which only the index page differs. */
function siteOf(content: string): Buffer {
  const pages = ['index.html', ...Array.from({ length: 9 }, (_, page) => `page-${page}.html`)];
  const items: Item[] = pages.map((name) => ({ name, content: `<h1>${name}</h1>` }));
  if (items[0]) items[0].content = `<h1>${content}</h1>`;
  if (content.endsWith('-')) items.splice(8);
  if (content.endsWith('!')) items[1] = { name: 'page-0.html', content: '<a href="gone.html">gone</a>' };
  if (content.endsWith('?')) items.splice(0, 1);
  return tarGz(items);
}

const env = await forThisFile(timeSkippingEnvironment());
/** The environment's own client lets time run ahead while it waits for a result. */
const client = new Client({ connection: env.connection });

it('a month of hourly exports equals the table (E6, E7, E8, E9, X9)', { timeout: 3_600_000 }, async () => {
  let content = '';
  let missed = '';
  const web = createServer(async (request, response) => {
    if (request.url === '/bundle') return void response.end(siteOf(content));
    const page = await readFile(join(site, 'current', request.url === '/' ? 'index.html' : `${request.url}`), 'utf8');
    const runs = /<h1>(.*)<\/h1>/.exec(await readFile(join(site, 'current/index.html'), 'utf8'))?.[1];
    const isMissed = missed === 'all' || missed === runs;
    response.end(isMissed ? '<form><input type="password"></form>' : page);
  });
  await once(web.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  const events = [...noticeTypes];
  const scene = await activityScene({}, undefined, {
    webhooks: [{ name: 'ops', format: 'standard', events, url: () => url, secret: () => null }],
  });
  const { deps, delivered } = scene;
  const { bundles } = deps;
  const site = join(scene.folder, 'site');
  const check = new ReadersCheck({ url, withinMs: 1000, headers: {}, expect: 'content' });
  let jobs = 0;
  const [acme] = deps.organizations;
  const [settings] = acme?.sites ?? [];
  if (acme === undefined || settings === undefined) throw new Error('there is no site');
  Object.assign(settings, {
    approval: { always: false, timeoutMs: gateMs },
    bundle: { ...settings.bundle, rules: { 'pages-removed': { level: 'ask', limit: 0.1 }, 'broken-link': 'ask' } },
    targets: [{ name: 'directory:./site', place: new DirectoryPlace({ path: site }), check }],
  });
  const completed = { status: 'completed', state: 'completed', percent: 100, pageCount: 10, error: null } as const;
  Object.assign(acme.service, {
    startExportJob: async () => ({ ...completed, jobId: `job-${++jobs}` }),
    getExportJob: async (jobId: string) => ({ ...completed, jobId }),
    createBundleLink: async () => ({ url: new URL(`${url}/bundle`), sizeBytes: null, expiresAtMs: null }),
  });

  const workers: Worker[] = [];
  const common = { connection: env.nativeConnection, namespace: 'default', activities: createActivities(deps) };
  workers.push(await Worker.create({ ...common, taskQueue, workflowBundle: workflowBundle(), debugMode: true }));
  for (const queueOf of [bulkQueueOf, checksQueueOf, urgentQueueOf]) {
    workers.push(await Worker.create({ ...common, taskQueue: queueOf(taskQueue) }));
  }

  const letters = new Map<string, string>();
  const letterOf = (version: string | null | undefined) => (version ? (letters.get(version) ?? version) : '');
  let waiting: ExportHandle | null = null;
  const begun = await env.currentTimeMs();

  async function ended(handle: ExportHandle) {
    const { outcome, version, reasons } = await handle.result();
    if (version !== null && !letters.has(version)) letters.set(version, content);
    return { outcome, why: reasons.map(({ rule }) => rule).join(', ') };
  }

  /** The latest export's end, or what it waits for. */
  async function soFar(handle: ExportHandle) {
    const isOver = async () => (await handle.describe()).status.name !== 'RUNNING';
    for (;;) {
      if (await isOver()) {
        waiting = null;
        return ended(handle);
      }
      const { approval } = await exportState(client, org, domain);
      if (approval !== null) {
        waiting = handle;
        letters.set(approval.version, content);
        return { outcome: 'waits', why: approval.asks.map(({ rule }) => rule).join(', ') };
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async function play(what: string): Promise<{ outcome: string; why: string }> {
    const [verb, where, which = ''] = what.split(' ');
    if (verb === 'readers') missed = where === 'miss' ? which : '';
    if (verb === 'held') {
      await bundles.holds.place(domain, { version: null, reason: 'by a person', at: new Date() });
    }
    if (verb === 'released') await bundles.holds.release(domain);
    const { approval } = waiting ? await exportState(client, org, domain) : { approval: null };
    const decided = { org, domain, version: approval?.version ?? '' };
    if (verb === 'approved') await approveExport(client, decided);
    if (verb === 'rejected') await rejectExport(client, { ...decided, reason: 'not so' });
    if (verb === 'back') {
      const version = [...letters].findLast(([, letter]) => letter === which)?.[0] ?? '';
      const input = { org, domain, version, reason: null };
      const how = { onRunning: 'cancel', beforeCancel: async () => {} } as const;
      const { handle } = await startRollback(client, taskQueue, input, how);
      waiting = null;
      const { outcome } = await handle.result();
      return { outcome, why: '' };
    }
    if (waiting && (verb === 'approved' || verb === 'rejected')) {
      const handle = waiting;
      waiting = null;
      return ended(handle);
    }
    if (waiting) return soFar(waiting);
    const parameters = verb === 'forced' ? { force: true } : {};
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters }, 'refuse');
    await env.sleep('5 minutes');
    return soFar(handle);
  }

  const outcomes: string[] = [];
  let told = 0;
  await workers.slice(1).reduce(
    (run, worker) => worker.runUntil(run),
    workers[0]?.runUntil(async () => {
      for (const row of rows) {
        for (let hour = row.from; hour <= row.to; hour += 1) {
          await env.sleep(Math.max(0, begun + hour * hourMs - (await env.currentTimeMs())));
          content = row.content;
          const { outcome, why } = await play(hour === row.from ? row.what : '');
          const hold = await bundles.holds.of(domain);
          const current = (await bundles.current(domain))?.version;
          await sendDueNotices(deps, org, new Date(await env.currentTimeMs()));
          // Since the look of the hour before: a gate's reminder and expiry come between two exports.
          const notices = delivered.slice(told).map(({ event }) => {
            const { type, data } = event as { type: string; data: { state: string } };
            return `${type} ${data.state}`;
          });
          told = delivered.length;
          const held = hold ? `${letterOf(hold.version)}${hold.refused ? ' check' : ''}` : '';
          const found = [outcome, why, letterOf(current), held, notices.sort().join(', ')];
          const where = `hour ${hour}, ${row.content}, ${row.what}`;
          expect.soft(found.join(' | '), `${where}: ${columns}`).toBe(row.expected.join(' | '));
          if (outcome !== 'waits') outcomes.push(outcome);
          // Readers get what is in service, whatever happened.
          expect(basename(await readlink(join(site, 'current'))), where).toBe(current);
        }
      }
    }) ?? Promise.reject(new Error('there is no worker')),
  );
  expect(rows.reduce((sum, { from, to }) => sum + to - from + 1, 0)).toBe(30 * 24);
  // Each run has left its row, the export that a rollback cancelled too (X4).
  const left = await deps.feedback.listExportRuns({ org, domain, limit: 1000 });
  const sorted = (names: string[]) => [...names].sort();
  expect(sorted(left.map(({ outcome }) => outcome))).toEqual(sorted([...outcomes, 'cancelled']));
  await scene.end();
  web.close().closeAllConnections();
});
