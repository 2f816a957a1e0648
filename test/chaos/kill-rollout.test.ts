import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { nextStep, type RolloutStep, type StepTaken } from '../../src/exports/rules/rollout-steps.ts';
import type { ExportResult } from '../../src/exports/rules/site-export.ts';
import { devServerTool, resolveBinary } from '../../src/local/binaries.ts';
import { type DevServer, startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { startExport } from '../../src/operations/exports.ts';
import { searchAttributes } from '../../src/rules/workflow-ids.ts';
import { Database } from '../../src/sqlite.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { s3Backend, s3Server } from '../tools/bundle/store-backends.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';

/**
 * A worker is killed with -9 before every step of a rollout and of the return after a refused one: a place of every kind,
 * a program and a check, and the records of the store between them (E7, E9). The steps are found, not listed: another
 * each time, until the export ends without a kill. Another worker goes on; then everything is as if nobody had been killed.
 */

const preload = resolve('test/chaos/kill-at-rollout.mjs');
const domain = 'docs.acme.example';

/** A kind of target, by a lane of its own. */
interface Kind {
  /** Of its place, as `kill-at-rollout.mjs` names it. */
  name?: string;
  /** The steps that are killed: names of `kill-at-rollout.mjs`. */
  counted: RegExp;
  has: readonly RolloutStep[];
  /** YAML of the place. */
  place?: (folder: string) => string;
  /** The version that the place has in service, as its readers see it; null for none. */
  runs: (folder: string) => Promise<string | null>;
  /** Needs the S3 server. */
  inBucket?: boolean;
}

const inBranch = (folder: string, path: string) => {
  try {
    return execFileSync('git', ['show', `main:${path}`], { cwd: join(folder, 'deployments.git'), encoding: 'utf8' });
  } catch {
    return null;
  }
};
const lastLine = async (file: string) =>
  (await readFile(file, 'utf8').catch(() => '')).trimEnd().split('\n').at(-1) || null;
const inValues = (text: string | null) => (text === null ? null : (parse(text).staticExport?.version ?? null));
const git = (folder: string) => `git: { repository: "file://${folder}/deployments.git" }`;

const kinds: Record<string, Kind> = {
  'a folder, a check and the records of the store': {
    counted: /^/,
    has: ['place', 'check'],
    name: 'directory',
    place: () => 'directory: { path: ./site }',
    runs: async (folder) => basename(await readlink(join(folder, 'site/current')).catch(() => '')) || null,
  },
  'a program': {
    counted: /^run/,
    has: ['run', 'check'],
    runs: (folder) => lastLine(join(folder, 'ran')),
  },
  'a bucket': {
    counted: /^bucket/,
    has: ['place', 'check'],
    name: 'bucket',
    place: (folder) =>
      `bucket: { bucket: ${s3Server().bucket}, prefix: ${basename(folder)}, endpoint: "${s3Server().endpoint}" }`,
    inBucket: true,
    async runs(folder) {
      const { client, bucket } = s3Server();
      const key = `${basename(folder)}/.docferry-site.json`;
      const found = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key })).catch(() => null);
      const marker = found && JSON.parse((await found.Body?.transformToString()) ?? '{}');
      return marker && marker.pending === null ? marker.version : null;
    },
  },
  'Helm values': {
    counted: /^helmValues/,
    has: ['place', 'check'],
    name: 'helmValues',
    place: () => 'helmValues: { file: ./docs.yaml }',
    runs: async (folder) => inValues(await readFile(join(folder, 'docs.yaml'), 'utf8')),
  },
  'Helm values in git': {
    counted: /^(git|helmValues)/,
    has: ['place', 'check'],
    name: 'git',
    place: (folder) => `helmValues: { file: docs.yaml }, ${git(folder)}`,
    runs: async (folder) => inValues(inBranch(folder, 'docs.yaml')),
  },
  'a folder in git': {
    counted: /^(git|folder in git)/,
    has: ['place', 'check'],
    name: 'git',
    place: (folder) => `directory: { path: site }, ${git(folder)}`,
    runs: async (folder) => JSON.parse(inBranch(folder, 'site/.docferry.json') ?? '{}').version ?? null,
  },
};

/** Says so when two of it run at once. */
const program = `#!/bin/sh
exec 9>>lock
flock --nonblock 9 || echo "$1" >> twice
sleep 3
echo "$1" >> ran
`;

const person = ['-c', 'user.name=A Person', '-c', 'user.email=person@acme.example'];
const author = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'user.name',
  GIT_CONFIG_VALUE_0: 'docferry',
  GIT_CONFIG_KEY_1: 'user.email',
  GIT_CONFIG_VALUE_1: 'docferry@acme.example',
};

let server: DevServer;
let logs: string;
beforeAll(async () => {
  const { path: binary } = await resolveBinary(devServerTool);
  logs = await mkdtemp(join(tmpdir(), 'docferry-kill-rollout-log-'));
  server = await startDevServer({
    binary,
    port: await findFreePort(),
    logFile: join(logs, 'temporal.log'),
    searchAttributes: Object.values(searchAttributes),
  });
  if (s3Backend.available) await s3Backend.start();
});
afterAll(async () => {
  await server.stop();
  if (s3Backend.available) await s3Backend.stop();
  await rm(logs, { recursive: true, force: true });
});

/** A site with one target, a worker that is killed, and a web server that may refuse versions. */
class Lane {
  /** Versions that readers get; all when null. */
  good: string | null = null;
  readonly #org: string;
  readonly #kind: Kind;
  readonly folder: string;
  readonly #sandbox: Sandbox;
  readonly #client: Client;
  readonly #web: Server;
  #worker: DocferryProcess | null = null;
  #counts = 0;

  private constructor(
    org: string,
    kind: Kind,
    parts: { folder: string; sandbox: Sandbox; client: Client; web: Server },
  ) {
    [this.#org, this.#kind, this.folder] = [org, kind, parts.folder];
    [this.#sandbox, this.#client, this.#web] = [parts.sandbox, parts.client, parts.web];
  }

  static async begin(org: string, kind: Kind): Promise<Lane> {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-kill-rollout-'));
    const organizations = [{ id: org, domains: [domain], projects: [] }];
    const sandbox = await startSandbox({ organizations, jobSeconds: 0, pages: 2 });
    const web = createServer(async (_request, response) => {
      const isBad = lane.good !== null && (await kind.runs(folder)) !== lane.good;
      response.writeHead(isBad ? 500 : 200).end();
    });
    await once(web.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    const parts = [
      ...(kind.place ? [kind.place(folder)] : []),
      ...(kind.has.includes('run') ? ['run: [./deploy.sh, "{version}"]'] : []),
      `check: { url: "${url}", within: 1s, expect: status }`,
    ];
    await writeFile(
      join(folder, 'docferry.yaml'),
      `temporal: { address: "${server.address}", taskQueue: ${org} }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
store: { bundles: { directory: ./data/bundles, publicUrl: "http://localhost:8090" }, keep: 1 }
organizations:
  - id: ${org}
    apiKey: "${sandbox.apiKey}"
    budget: { requests: 1000, window: 1h }
    sites: [{ domain: ${domain}, rollout: [{ ${parts.join(', ')} }] }]
`,
    );
    await writeFile(join(folder, 'deploy.sh'), program, { mode: 0o755 });
    await writeFile(join(folder, 'docs.yaml'), 'replicas: 2\n');
    const clone = join(folder, 'person');
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', join(folder, 'deployments.git')]);
    await mkdir(clone);
    await writeFile(join(clone, 'docs.yaml'), 'replicas: 2\n');
    execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: clone });
    execFileSync('git', ['add', '.'], { cwd: clone });
    execFileSync('git', [...person, 'commit', '--quiet', '--message', 'values'], { cwd: clone });
    execFileSync('git', ['push', '--quiet', join(folder, 'deployments.git'), 'main'], { cwd: clone });
    const config = loadConfig({ file: join(folder, 'docferry.yaml'), env: {}, cwd: folder, secrets: 'required' });
    const client = await connectClient(config.temporal);
    const lane = new Lane(org, kind, { folder, sandbox, client, web });
    await lane.#startWorker();
    return lane;
  }

  /** Again, as a service manager does, while it ends at once: on a busy machine Temporal may answer too late. */
  async #startWorker(): Promise<void> {
    const env = { ...author, NODE_OPTIONS: `--import ${preload}`, KILL_FOLDER: this.folder };
    for (let left = 10; ; left -= 1) {
      this.#worker = new DocferryProcess(['worker'], { cwd: this.folder, env });
      try {
        return await this.#worker.says('worker: ready');
      } catch (error) {
        if (left <= 1) throw error;
      }
    }
  }

  /** Exports new content; the worker is killed before the first step that is not among these, and another goes on. */
  async exportKilled(earlier: readonly string[]): Promise<{ result: ExportResult; killed: string | null }> {
    this.#counts += 1;
    this.#sandbox.publishRevision(domain);
    const order = [this.#counts, this.#kind.counted.source, ...earlier];
    await writeFile(join(this.folder, 'kill-at.new'), order.join('\n'));
    execFileSync('mv', ['kill-at.new', 'kill-at'], { cwd: this.folder });
    const input = { org: this.#org, domain, parameters: {} };
    const { handle } = await startExport(this.#client, this.#org, input, 'refuse');
    const ended = handle.result();
    const died = this.#worker?.ended().then(() => null);
    const first = await Promise.race([ended, died]);
    if (first) return { result: first, killed: null };
    const killed = await readFile(join(this.folder, 'killed-at'), 'utf8');
    await rm(join(this.folder, 'killed-at'));
    await this.#startWorker();
    return { result: await ended, killed };
  }

  /** What everybody sees once a run has ended. */
  async seen(runId: string) {
    const store = join(this.folder, 'data/bundles', domain);
    const read = async (name: string) => JSON.parse(await readFile(join(store, name), 'utf8').catch(() => 'null'));
    const db = new Database(join(this.folder, 'data/feedback.db'), { readOnly: true });
    try {
      const rows = db.prepare('select outcome from export_runs where run_id = ?').all(runId) as { outcome: string }[];
      const rollouts = await read('rollouts.json');
      return {
        current: (await read('current.json'))?.version ?? null,
        hold: await read('hold.json'),
        rolledOut: Object.values(rollouts ?? {}),
        versions: (await readdir(join(store, 'versions'))).sort(),
        runs: await this.#kind.runs(this.folder),
        ran: await lastLine(join(this.folder, 'ran')),
        ranTwice: await lastLine(join(this.folder, 'twice')),
        rows: rows.map(({ outcome }) => outcome),
      };
    } finally {
      db.close();
    }
  }

  async end(): Promise<void> {
    await this.#worker?.kill('SIGKILL');
    await this.#client.connection.close();
    this.#web.close().closeAllConnections();
    await this.#sandbox.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The steps of a rollout in their order, by the function that decides it for exports. */
function stepsInOrder(steps: readonly RolloutStep[]): RolloutStep[] {
  const taken: StepTaken[] = [];
  const targets = [{ target: 'one', steps }];
  for (let next = nextStep(targets, taken); next !== null; next = nextStep(targets, taken)) {
    taken.push({ ...next, outcome: 'rolled-out', detail: '' });
  }
  return taken.map(({ step }) => step);
}

describe.concurrent('kill -9 of the worker before every step of a rollout, with keep: 1 (E7, E9)', () => {
  for (const [index, [name, kind]] of Object.entries(kinds).entries()) {
    it.skipIf(kind.inBucket && !s3Backend.available)(`to ${name}`, { timeout: 3_600_000 }, async () => {
      const began = performance.now();
      const lane = await Lane.begin(`lane-${index}`, kind);
      try {
        const ran = (version: string | null) => (kind.has.includes('run') ? version : null);
        const exportAll = async (expectEnd: (result: ExportResult, where: string) => Promise<void>) => {
          const killedAt: string[] = [];
          for (;;) {
            const { result, killed } = await lane.exportKilled(killedAt);
            await expectEnd(result, `killed before ${killed ?? 'nothing'}, after ${killedAt.length} others`);
            if (killed === null) return killedAt;
            killedAt.push(killed);
          }
        };
        let last: string | null = null;
        const forward = await exportAll(async (result, where) => {
          const { version } = result;
          expect(result, where).toMatchObject({
            outcome: 'published',
            held: null,
            rollouts: [{ outcome: 'rolled-out' }],
          });
          expect(await lane.seen(result.runId), where).toMatchObject({
            current: version,
            hold: null,
            rolledOut: [version],
            runs: version,
            ran: ran(version),
            ranTwice: null,
            rows: ['published'],
          });
          last = version;
        });
        lane.good = last;
        const refused = await exportAll(async (result, where) => {
          expect(result, where).toMatchObject({
            outcome: 'rollout-failed',
            held: last,
            reasons: [{ rule: 'check-failed', detail: expect.stringContaining(`the site is back at ${last}`) }],
          });
          const seen = await lane.seen(result.runId);
          expect(seen, where).toMatchObject({
            current: last,
            hold: { version: last, refused: { version: result.version } },
            rolledOut: [last],
            runs: last,
            ran: ran(last),
            ranTwice: null,
            rows: ['rollout-failed'],
          });
          expect(seen.versions, where).toContain(last);
        });
        // Each step of a rollout, and each of a refused one and its return.
        for (const step of stepsInOrder(kind.has)) {
          const begins = `${step === 'place' ? kind.name : step} begins`;
          if (!kind.counted.test(begins)) continue;
          const times = (all: readonly string[]) => all.filter((each) => each.startsWith(begins)).length;
          expect([step, times(forward), times(refused)]).toEqual([step, 1, 2]);
        }
        const seconds = Math.round((performance.now() - began) / 1000);
        const killedAt = [...forward, ...refused];
        process.stderr.write(
          `  ${name}: killed before ${killedAt.length} steps in ${seconds} s: ${killedAt.join('; ')}\n`,
        );
      } finally {
        await lane.end();
      }
    });
  }
});
