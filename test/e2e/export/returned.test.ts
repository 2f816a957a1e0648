import { once } from 'node:events';
import { chmod, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { holdText } from '../../../src/cli/terminal/progress.ts';
import type { ExportParameters, ExportResult } from '../../../src/exports/rules/site-export.ts';
import type { SiteHold } from '../../../src/exports/store/bundle-store.ts';
import { startExport } from '../../../src/operations/exports.ts';
import { docferryJson } from '../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../tools/scene.ts';
import { awsVariables, type S3Server, s3ServerProgram, startS3Server } from '../../tools/servers/s3-server.ts';
import { startReceiver, type WebhookReceiver, webhookSecret } from '../../tools/servers/webhook-receiver.ts';

const s3Program = await s3ServerProgram();

/** What readers get in place of a version that the web server is to spoil. */
type Fault = 'stale cache' | 'sign-in page' | 'half a site';

let scene: Scene;
let hook: WebhookReceiver;
let web: Server;
let s3: S3Server | null = null;
let requests: number;
/** Null: readers get what `current` names. `good` is the version that is never spoiled; null for none. */
let fault: { kind: Fault; good: string | null } | null;

beforeEach(async () => {
  [requests, fault] = [0, null];
  web = createServer(async (request, response) => {
    requests += 1;
    const path = request.url === '/' ? '/index.html' : `${request.url}`;
    const site = join(scene.folder, 'site');
    const runs = basename(await readlink(join(site, 'current')));
    const spoils = fault !== null && fault.good !== runs ? fault.kind : null;
    if (spoils === 'sign-in page') return void response.end('<form><input type="password"></form>');
    const shown = spoils === 'stale cache' ? `${fault?.good}` : runs;
    const isGone = spoils === 'half a site' && path !== '/index.html';
    const page = isGone ? null : await readFile(join(site, 'releases', shown, path)).catch(() => null);
    response.writeHead(page === null ? 404 : 200).end(page);
  }).listen(0, '127.0.0.1');
  await once(web, 'listening');
  hook = await startReceiver();
});
afterEach(async () => {
  await scene?.end();
  web.close().closeAllConnections();
  await hook.stop();
  await s3?.stop();
  s3 = null;
});

const withProgram = 'run: [./purge.sh, "{version}"]';
const checked = () => `check: { url: "http://127.0.0.1:${(web.address() as AddressInfo).port}", within: 5s }`;

/** A site with these targets, of which the check looks at the folder `site`, its store in a folder or a bucket. */
async function begin(rollout: string, kind: 'directory' | 's3' = 'directory'): Promise<void> {
  if (kind === 's3') s3 = await startS3Server(s3Program ?? '');
  const bundles = s3 && `{ s3: { bucket: ${s3.bucket}, endpoint: "${s3.endpoint}", workFolder: ./work } }`;
  scene = await setScene({
    sandbox: { jobSeconds: 0.2, pages: 20 },
    rollout,
    webhooks: `[{ name: ops, url: "${hook.url}", secret: ${webhookSecret} }]`,
    watch: { every: '1s' },
    ...(bundles && { bundles }),
  });
  const program = join(scene.folder, 'purge.sh');
  await writeFile(program, '#!/bin/sh\necho "$1" >> purged\n');
  await chmod(program, 0o755);
  await scene.startWorker();
}

async function exportSite(parameters: ExportParameters = {}): Promise<ExportResult> {
  const { client, taskQueue, org, domain } = scene;
  return (await startExport(client, taskQueue, { org, domain, parameters }, 'join')).handle.result();
}

const docferry = (...args: string[]) =>
  docferryJson([...args, '--config', scene.configFile], {
    // The AWS client reads the variables of its process.
    ownProcess: s3 !== null,
    env: s3 ? awsVariables(s3) : {},
  });

/** The pointer, the hold, what the target runs, and for which versions the program ran. */
async function inService() {
  const { document } = await docferry('export', 'versions', scene.domain);
  const { current, hold, versions } = document as { current: string | null; hold: SiteHold | null; versions: object[] };
  const link = join(scene.folder, 'site', 'current');
  const purged = (await readFile(join(scene.folder, 'purged'), 'utf8')).trim().split('\n');
  const { ino, mtimeMs } = await stat(link);
  const { ino: linked } = await stat(join(scene.folder, 'site'));
  return {
    seen: { current, hold, count: versions.length, runs: basename(await readlink(link)), purged },
    touched: { ino, mtimeMs, linked, requests },
  };
}

/** States of the notices of a type that have arrived, in the order in which they were sent. */
const told = (type: string): { state: string; reason: string }[] =>
  hook.received
    .map(({ body }) => JSON.parse(body) as { type: string; timestamp: string; data: { state: string; reason: string } })
    .filter((event) => event.type === type)
    .sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1))
    .map(({ data }) => data);
const states = (type: string) => told(type).map(({ state }) => state);

/** Exports what a check refused before, so often: nothing is published, rolled out, run or fetched. */
async function expectLeftAlone(times: number, refused: ExportResult, held: string): Promise<void> {
  const before = await inService();
  for (let again = 0; again < times; again += 1) {
    expect(await exportSite()).toMatchObject({
      outcome: 'unchanged',
      version: refused.version,
      held,
      reasons: [{ rule: 'check-failed' }],
    });
  }
  expect(await inService()).toEqual(before);
}

it('a version that readers do not get leaves service; its content is left alone, and other content goes out (E6, E7, E9)', async () => {
  await begin(`[{ directory: { path: ./site }, ${withProgram}, ${checked()} }]`);
  const { sandbox, domain } = scene;
  const first = await exportSite();
  expect(first).toMatchObject({ outcome: 'published', held: null, rollouts: [{ outcome: 'rolled-out' }] });
  let good = `${first.version}`;
  const purged = [good];
  let count = 1;
  expect((await inService()).seen).toEqual({ current: good, hold: null, count, runs: good, purged });

  const faults: [Fault, RegExp, number][] = [
    ['stale cache', /the old version /, 10],
    ['sign-in page', /a sign-in page/, 10],
    ['half a site', /a missing file \(404\)/, 10],
  ];
  for (const [index, [kind, named, exports]] of faults.entries()) {
    sandbox.publishRevision(domain);
    fault = { kind, good };
    const refused = await exportSite();
    const { version } = refused;
    expect(refused, kind).toMatchObject({
      outcome: 'rollout-failed',
      held: good,
      reasons: [{ rule: 'check-failed', detail: expect.stringMatching(named) }],
      rollouts: [{ outcome: 'failed', detail: expect.stringContaining(`runs ${good} again`) }],
    });
    expect(refused.reasons[0]?.detail).toContain(`the site is back at ${good}`);
    purged.push(`${version}`, good);
    count += 1;
    const { seen } = await inService();
    expect(seen).toMatchObject({ current: good, count, runs: good, purged });
    expect(seen.hold).toMatchObject({
      version: good,
      reason: expect.stringMatching(named),
      waiting: null,
      refused: { version, contentDigest: refused.contentDigest },
    });
    await expectLeftAlone(exports, refused, good);
    const begunAndEnded = Array.from({ length: index }, () => ['begun', 'ended']).flat();
    await expect.poll(() => states('rollout.failed')).toEqual([...begunAndEnded, 'begun']);
    expect(told('rollout.failed').at(-1)?.reason).toMatch(named);

    // Other content, once readers get what is in service.
    fault = null;
    sandbox.publishRevision(domain);
    const next = await exportSite();
    expect(next, kind).toMatchObject({ outcome: 'published', held: null, rollouts: [{ outcome: 'rolled-out' }] });
    good = `${next.version}`;
    purged.push(good);
    count += 1;
    expect((await inService()).seen).toEqual({ current: good, hold: null, count, runs: good, purged });
    await expect.poll(() => states('rollout.failed')).toEqual([...begunAndEnded, 'begun', 'ended']);
  }
  expect(told('site.held')).toEqual([]);

  // A sign-in page before every version: the return is not believed either.
  sandbox.publishRevision(domain);
  fault = { kind: 'sign-in page', good: null };
  const locked = await exportSite();
  expect(locked).toMatchObject({
    outcome: 'rollout-failed',
    held: good,
    reasons: [
      { rule: 'return-failed', detail: expect.stringContaining(`back at ${good}, but not directory:./site`) },
      { rule: 'check-failed', detail: expect.stringContaining('a sign-in page') },
    ],
  });
  expect((await inService()).seen).toMatchObject({ current: good, runs: good });
  // The return is tried again, and said for as long as it fails.
  const stillLocked = await exportSite();
  expect(stillLocked).toMatchObject({ outcome: 'rollout-failed', version: locked.version, held: good });
  expect(stillLocked.reasons.map(({ rule }) => rule)).toEqual(['return-failed', 'check-failed']);
  // A person has it tried again.
  fault = null;
  const forced = await exportSite({ force: true });
  expect(forced).toMatchObject({ outcome: 'published', contentDigest: locked.contentDigest, held: null });
  const { seen: afterForce } = await inService();
  expect(afterForce).toMatchObject({ current: forced.version, hold: null, runs: forced.version });

  // A person's hold stays, whatever an export brings.
  expect((await docferry('export', 'hold', domain, '--reason', 'audit')).exitCode).toBe(0);
  sandbox.publishRevision(domain);
  fault = { kind: 'half a site', good: null };
  const waiting = await exportSite();
  expect(waiting).toMatchObject({ outcome: 'published', held: forced.version, reasons: [] });
  expect((await inService()).seen).toMatchObject({
    current: forced.version,
    hold: { version: forced.version, reason: 'audit', waiting: waiting.version },
    runs: forced.version,
    purged: afterForce.purged,
  });
});

it.each(['directory', 's3'] as const)(
  'without an earlier version nothing is current, and what was refused is not tried again (E6, E9), store: %s',
  async (kind) => {
    if (kind === 's3' && s3Program === null) return;
    await begin(`[{ directory: { path: ./site }, ${withProgram}, ${checked()} }]`, kind);
    const { sandbox, domain } = scene;
    fault = { kind: 'sign-in page', good: null };
    const first = await exportSite();
    expect(first).toMatchObject({
      outcome: 'rollout-failed',
      held: first.version,
      reasons: [{ rule: 'check-failed', detail: expect.stringContaining('nothing is current') }],
    });
    const { contentDigest, version } = first;
    const left = { current: null, count: 1, hold: { version, refused: { version, contentDigest } } };
    const { seen } = await inService();
    expect(seen).toMatchObject({ ...left, purged: [version] });
    const words = seen.hold && holdText(seen.hold);
    expect(words).toMatch(/^nothing is in service since [\s\S]*sign-in page\n.* was refused; other content ends this/);
    await expectLeftAlone(3, first, `${version}`);
    await expect.poll(() => states('rollout.failed')).toEqual(['begun']);

    // Other content is tried; what was refused before is no version to return to.
    sandbox.publishRevision(domain);
    const second = await exportSite();
    expect(second).toMatchObject({ outcome: 'rollout-failed', reasons: [{ rule: 'check-failed' }] });
    expect((await inService()).seen).toMatchObject({
      current: null,
      count: 2,
      hold: { refused: { version: second.version } },
      purged: [version, second.version],
    });
    await expectLeftAlone(1, second, `${second.version}`);

    // A person releases it, and readers get the version.
    fault = null;
    expect((await docferry('export', 'release', domain)).exitCode).toBe(0);
    const third = await exportSite();
    expect(third).toMatchObject({ outcome: 'published', contentDigest: second.contentDigest, held: null });
    expect((await inService()).seen).toMatchObject({ current: third.version, hold: null, runs: third.version });
  },
);

it('of three targets, those that were reached return, and the last one never had the version (E9)', async () => {
  const targets = [
    `{ directory: { path: ./one }, ${withProgram} }`,
    `{ directory: { path: ./site }, ${checked()} }`,
    '{ directory: { path: ./three } }',
  ];
  await begin(`[${targets.join(', ')}]`);
  const { sandbox, folder } = scene;
  const [one, site, three] = ['directory:./one', 'directory:./site', 'directory:./three'];
  const runs = async () =>
    Promise.all(['one', 'site', 'three'].map(async (name) => basename(await readlink(join(folder, name, 'current')))));
  const first = await exportSite();
  const good = `${first.version}`;
  expect(await runs()).toEqual([good, good, good]);
  sandbox.publishRevision(scene.domain);
  fault = { kind: 'stale cache', good };
  const refused = await exportSite();
  const version = `${refused.version}`;
  expect(refused).toMatchObject({
    outcome: 'rollout-failed',
    held: good,
    reasons: [{ rule: 'check-failed', detail: expect.stringContaining(site) }],
    rollouts: [
      { target: one, outcome: 'failed', detail: `runs ${good} again` },
      { target: site, outcome: 'failed', detail: expect.stringMatching(/^runs .* again; .*the old version/) },
    ],
  });
  expect(await runs()).toEqual([good, good, good]);
  expect((await inService()).seen).toMatchObject({ current: good, purged: [good, version, good] });
  await expect(stat(join(folder, 'three', 'releases', version))).rejects.toMatchObject({ code: 'ENOENT' });

  fault = null;
  sandbox.publishRevision(scene.domain);
  const next = await exportSite();
  expect(next).toMatchObject({ outcome: 'published', held: null, rollouts: [{ target: one }, {}, { target: three }] });
  expect(await runs()).toEqual([next.version, next.version, next.version]);
});
