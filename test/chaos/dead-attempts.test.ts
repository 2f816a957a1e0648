import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { devServerTool, resolveBinary } from '../../src/local/binaries.ts';
import { type DevServer, startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { startExport, startRollback } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { searchAttributes } from '../../src/rules/workflow-ids.ts';
import { Database } from '../../src/sqlite.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';
import { markdownTable } from '../tools/markdown-table.ts';
import { type HeldCall, type HoldingProxy, holdingProxy } from '../tools/proxies/holding-proxy.ts';
import { resetRun } from '../tools/temporal/reset-run.ts';

/**
 * Dead attempts stay dead (E11). Before each change outside, a built worker asks Temporal whether the attempt is still
 * its own. A proxy between them holds that question, one after the other of an export, a rollback and a sync; while it
 * is held, the run is disturbed. What is outside then must be what was there before, until a living attempt goes on.
 */

const stepNames = 'startJob fetchBundle publishVersion promoteVersion checkKeptVersion rollBackTo rollOut'.split(' ');
const auditStep = 'recordAuditEntry';
stepNames.push('beginPass', 'fetchPages', 'finishPass', 'recordExportRun', auditStep);
const disturbances = ['terminate', 'delete', 'cancel', 'reset', 'pause', 'kill', 'partition'] as const;
type Disturbance = (typeof disturbances)[number];

let server: DevServer;
let lane: Lane | null = null;
const rows: string[][] = [];

beforeAll(async () => {
  const { path: binary } = await resolveBinary(devServerTool);
  server = await startDevServer({
    binary,
    port: await findFreePort(),
    logFile: join(await mkdtemp(join(tmpdir(), 'docferry-dead-log-')), 'temporal.log'),
    searchAttributes: Object.values(searchAttributes),
  });
}, 120_000);
afterEach(async () => {
  await lane?.end();
  lane = null;
});
afterAll(async () => {
  await server.stop();
  const head = ['run', 'disturbance', 'at each question before a change', 'done by the dead attempt', 'row'];
  process.stderr.write(`\n${markdownTable(head, rows).join('\n')}\n`);
});

/** A run of a kind of work, and what it changes outside. */
interface Scenario {
  prepare(): Promise<void>;
  start(): Promise<WorkflowHandle>;
  outside(): Promise<string>;
  /** Outcomes of the rows that the runs have left, by run; of passes by first run, whose pass a reset run goes on with. */
  rows(): Record<string, string>;
}

/** A worker behind a proxy, with sites and stores of its own. */
class Lane {
  readonly org: string;
  readonly folder: string;
  readonly client: Client;
  readonly proxy: HoldingProxy;
  readonly #sandbox: Sandbox;
  #worker: DocferryProcess | null = null;
  #watched: { workflowId: string; left: number; held: (call: HeldCall) => void; later: HeldCall[] } | null = null;

  private constructor(org: string, folder: string, sandbox: Sandbox, client: Client, proxy: HoldingProxy) {
    this.org = org;
    this.folder = folder;
    this.#sandbox = sandbox;
    this.client = client;
    this.proxy = proxy;
  }

  static async begin(org: string, domains: readonly string[]): Promise<Lane> {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-dead-'));
    const projects = ['prj_1'];
    const sandbox = await startSandbox({
      organizations: [{ id: org, domains, projects: projects.map((id) => ({ id })) }],
      jobSeconds: 0,
      pages: 4,
      entries: 250,
      requests: 10_000,
    });
    const holder: { lane?: Lane } = {};
    const proxy = await holdingProxy(server.address, (method, headers, call) => {
      const isQuestion = method === 'RecordActivityTaskHeartbeat' && `${headers['user-agent']}`.startsWith('grpc-node');
      return isQuestion && (holder.lane?.takes(call) ?? false);
    });
    const text = (address: string) => `temporal: { address: "${address}", taskQueue: ${org} }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
  - id: ${org}
    apiKey: "${sandbox.apiKey}"
    budget: { requests: 10000, window: 1h }
    projects: [{ id: prj_1 }]
    sites:
${domains.map((domain) => `      - { domain: ${domain}, rollout: [{ directory: { path: ./site-${domain} } }] }`).join('\n')}
`;
    await writeFile(join(folder, 'docferry.yaml'), text(proxy.address));
    await writeFile(join(folder, 'direct.yaml'), text(server.address));
    const direct = loadConfig({ file: join(folder, 'direct.yaml'), env: {}, cwd: folder, secrets: 'required' });
    const made = new Lane(org, folder, sandbox, await connectClient(direct.temporal), proxy);
    holder.lane = made;
    await made.startWorker();
    return made;
  }

  async startWorker(): Promise<void> {
    this.#worker = new DocferryProcess(['worker'], { cwd: this.folder });
    await this.#worker.says('worker: ready');
    const worker = this.#worker;
    this.workerEnds = worker.ended().then(() => Promise.reject(new Error(`the worker ended:\n${worker.output}`)));
    this.workerEnds.catch(() => {});
  }

  async stopWorker(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#worker?.kill(signal);
  }

  /**
   * The question of the run with this number, once it is held. An attempt that gets no answer asks again: those questions
   * are held too, and passed on with the first.
   */
  question(workflowId: string, number: number): Promise<HeldCall> {
    return new Promise((resolve) => {
      const later: HeldCall[] = [];
      const held = (call: HeldCall) =>
        resolve({
          ...call,
          pass: () => {
            this.forget();
            for (const each of [call, ...later]) each.pass();
          },
        });
      this.#watched = { workflowId, left: number, held, later };
    });
  }

  /** Rejects with what the worker said if it ends. */
  workerEnds: Promise<never> = new Promise(() => {});

  forget(): void {
    this.#watched = null;
  }

  takes(call: HeldCall): boolean {
    const watched = this.#watched;
    if (watched === null || !call.request.includes(watched.workflowId)) return false;
    watched.left -= 1;
    if (watched.left > 0) return false;
    if (watched.left === 0) watched.held(call);
    else watched.later.push(call);
    return true;
  }

  /** What is outside for readers of a site: pointer, hold, versions, rollouts, what the target serves. */
  async site(domain: string): Promise<string> {
    const store = join(this.folder, 'data/bundles', domain);
    const read = (name: string) => readFile(join(store, name), 'utf8').catch(() => null);
    const target = join(this.folder, `site-${domain}`);
    return JSON.stringify({
      current: await read('current.json'),
      hold: await read('hold.json'),
      rollouts: await read('rollouts.json'),
      versions: (await readdir(join(store, 'versions')).catch(() => [])).sort(),
      serves: await readlink(join(target, 'current')).catch(() => null),
      jobs: this.#sandbox.log().filter((entry) => JSON.stringify(entry).includes(domain)).length,
    });
  }

  query(sql: string, ...values: string[]): Record<string, unknown>[] {
    const db = new Database(join(this.folder, 'data/feedback.db'), { readOnly: true });
    try {
      return db.prepare(sql).all(...values) as Record<string, unknown>[];
    } finally {
      db.close();
    }
  }

  revise(domain: string): void {
    this.#sandbox.publishRevision(domain);
  }

  async end(): Promise<void> {
    this.proxy.heal();
    await this.#worker?.kill('SIGKILL');
    await this.client.connection.close();
    await this.proxy.stop();
    await this.#sandbox.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

const scenarios = {
  export: (lane: Lane, domain: string): Scenario => ({
    async prepare() {},
    start: async () =>
      (await startExport(lane.client, lane.org, { org: lane.org, domain, parameters: {} }, 'refuse')).handle,
    outside: () => lane.site(domain),
    rows: () => runRows(lane, domain),
  }),
  rollback: (lane: Lane, domain: string): Scenario => {
    let first = '';
    return {
      async prepare() {
        for (const revision of [1, 2]) {
          const input = { org: lane.org, domain, parameters: {} };
          const { handle } = await startExport(lane.client, lane.org, input, 'refuse');
          const { version } = await handle.result();
          if (revision === 1) first = version ?? '';
          lane.revise(domain);
        }
      },
      start: async () => {
        const input = { org: lane.org, domain, version: first, reason: null };
        const how = { onRunning: 'refuse', beforeCancel: async () => {} } as const;
        return (await startRollback(lane.client, lane.org, input, how)).handle;
      },
      outside: () => lane.site(domain),
      rows: () => runRows(lane, domain),
    };
  },
  sync: (lane: Lane): Scenario => ({
    async prepare() {},
    start: () => startSync(lane.client, lane.org, { org: lane.org, project: 'prj_1', pass: 'sweep' }),
    outside: async () =>
      JSON.stringify([
        lane.query('select count(*) as n from feedback'),
        // Without the rows that the watch writes of runs that were terminated; a cancelled run closes its own row.
        lane.query("select pass_id, pages from sync_passes where pages > 0 or outcome in ('running', 'cancelled')"),
      ]),
    rows: () =>
      Object.fromEntries(
        lane.query('select pass_id, outcome from sync_passes').map((row) => [`${row.pass_id}`, `${row.outcome}`]),
      ),
  }),
};

function runRows(lane: Lane, domain: string): Record<string, string> {
  const found = lane.query('select run_id, outcome from export_runs where domain = ?', domain);
  return Object.fromEntries(found.map((row) => [`${row.run_id}`, `${row.outcome}`]));
}

/** Whether an attempt of the run may be at work, as Temporal sees it. */
async function attempts(
  handle: WorkflowHandle,
): Promise<{ attempt: number; state: number; id: string; step: string }[]> {
  const { raw } = await handle.describe();
  return (raw.pendingActivities ?? []).map(({ attempt, state, activityId, activityType }) => ({
    attempt: attempt ?? 0,
    state: state ?? 0,
    id: activityId ?? '',
    step: activityType?.name ?? '',
  }));
}
/** `PENDING_ACTIVITY_STATE_STARTED`, `…_CANCEL_REQUESTED`, `…_PAUSE_REQUESTED`. */
const atWork = [2, 3, 6];
const maxWait = { timeout: 120_000, interval: 200 };

/** The attempt that asks: beside a rollout the audit may be written. */
const askingIn = async (handle: WorkflowHandle, { request }: HeldCall) =>
  (await attempts(handle)).find(({ step }) => step !== '' && request.includes(step));

async function knowsOfCancellation(handle: WorkflowHandle): Promise<boolean> {
  const { events } = await handle.fetchHistory();
  const since = (events ?? []).findIndex((event) => event.workflowExecutionCancelRequestedEventAttributes);
  return since >= 0 && (events ?? []).slice(since).some((event) => event.workflowTaskCompletedEventAttributes);
}

/** Disturbs the run while the attempt asks, answers it, and returns what is outside once the attempt is surely dead. */
async function disturb(lane: Lane, how: Disturbance, handle: WorkflowHandle, call: HeldCall, scenario: Scenario) {
  const { client, proxy } = lane;
  const { namespace } = client.options;
  const execution = { workflowId: handle.workflowId };
  switch (how) {
    case 'terminate':
    case 'delete': {
      if (how === 'terminate') await handle.terminate('by a person');
      else {
        await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: execution });
        await expect
          .poll(
            () =>
              handle
                .describe()
                .then(() => true)
                .catch(() => false),
            maxWait,
          )
          .toBe(false);
      }
      call.pass();
      // What a stopped worker has not done, it will not do.
      await lane.stopWorker('SIGTERM');
      const outside = await scenario.outside();
      await lane.startWorker();
      return outside;
    }
    case 'cancel': {
      await handle.cancel();
      // Until the workflow has passed it on, the attempt is not cancelled; steps at a run's beginning and end never are.
      await expect.poll(() => knowsOfCancellation(handle), maxWait).toBe(true);
      const asking = await askingIn(handle, call);
      const isCancelled = asking?.state === atWork[1];
      call.pass();
      await handle.result().catch(() => {});
      return isCancelled ? scenario.outside() : null;
    }
    case 'reset':
      await resetRun(client, handle.workflowId, 'first');
      call.pass();
      await client.workflow.getHandle(handle.workflowId).result();
      return null;
    case 'pause': {
      const asking = await askingIn(handle, call);
      await client.workflowService.pauseActivity({ namespace, execution, id: asking?.id ?? '', reason: 'by a person' });
      call.pass();
      await expect
        .poll(async () => (await attempts(handle)).some(({ state }) => atWork.includes(state)), maxWait)
        .toBe(false);
      const outside = await scenario.outside();
      if ((await attempts(handle)).some(({ id }) => id === asking?.id)) {
        await client.workflowService.unpauseActivity({ namespace, execution, id: asking?.id ?? '' });
      }
      await handle.result();
      return outside;
    }
    case 'kill': {
      await lane.stopWorker('SIGKILL');
      call.pass();
      const outside = await scenario.outside();
      await lane.startWorker();
      await handle.result();
      return outside;
    }
    case 'partition': {
      const asking = await askingIn(handle, call);
      proxy.cut();
      lane.forget();
      const isGivenUp = async () => {
        const same = (await attempts(handle)).find(({ id }) => id === asking?.id);
        return same === undefined || same.attempt > (asking?.attempt ?? 0) || !atWork.includes(same.state);
      };
      await expect.poll(isGivenUp, maxWait).toBe(true);
      const outside = await scenario.outside();
      proxy.heal();
      await handle.result();
      return outside;
    }
  }
}

const most = 14;

describe.each(Object.keys(scenarios) as (keyof typeof scenarios)[])('an attempt of a %s that is dead', (kind) => {
  it.each(disturbances)('changes nothing outside: %s', { timeout: 900_000 }, async (how) => {
    const domains = Array.from({ length: most }, (_, n) => `docs-${n + 1}.example`);
    lane = await Lane.begin(`${kind}-${how}`, domains);
    const asked: string[] = [];
    const left: string[] = [];
    for (const [n, domain] of domains.entries()) {
      const scenario = scenarios[kind](lane, domain);
      await scenario.prepare();
      const ids = { export: `export:${lane.org}:${domain}`, rollback: `export:${lane.org}:${domain}` };
      const workflowId = kind === 'sync' ? `sync:${lane.org}:prj_1:sweep` : ids[kind];
      const before = Object.keys(kind === 'rollback' ? scenario.rows() : {}).length;
      const held = lane.question(workflowId, n + 1);
      const handle = await scenario.start();
      const call = await Promise.race([held, handle.result().then(() => null), lane.workerEnds]);
      if (call === null) break;
      const step = stepNames.find((name) => call.request.includes(name)) ?? 'another';
      asked.push(step);
      // The audit is written beside the steps that change the site, which go on.
      const changed =
        step === auditStep
          ? { ...scenario, outside: async () => JSON.stringify(lane?.query('select entry_id from audit')) }
          : scenario;
      const outside = await changed.outside();
      const after = await disturb(lane, how, handle, call, changed);
      process.stderr.write(`  ${kind}, ${how}: question ${n + 1}, of ${step}\n`);
      if (after !== null) expect(after, `${how} at question ${n + 1}, ${step}`).toBe(outside);
      // Terminated and deleted runs leave no row by themselves.
      if (how === 'terminate' || how === 'delete') continue;
      const { runId, raw } = await lane.client.workflow.getHandle(workflowId).describe();
      const id = kind === 'sync' ? (raw.workflowExecutionInfo?.firstRunId ?? '') : runId;
      await expect.poll(() => scenario.rows()[id], maxWait).toBeDefined();
      const outcome = scenario.rows()[id] ?? '';
      left.push(outcome);
      const good = how === 'cancel' ? ['cancelled'] : ['published', 'unchanged', 'rolled-back', 'completed'];
      expect(good, `row after ${how} at question ${n + 1}, ${step}`).toContain(outcome);
      if (kind !== 'sync') expect(Object.keys(scenario.rows())).toHaveLength(before + 1);
    }
    const counted = (names: string[]) =>
      [...new Set(names)].map((name) => `${names.filter((other) => other === name).length} ${name}`).join(', ');
    rows.push([kind, how, counted(asked), 'nothing', counted(left) || '-']);
    expect(asked.length).toBeGreaterThan(kind === 'export' ? 3 : 1);
  });
});
