import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import type { PassKind, SyncResult } from '../../src/feedback/rules/sync.ts';
import { devServerTool, resolveBinary } from '../../src/local/binaries.ts';
import { type DevServer, startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { budgetWorkflowId, searchAttributes } from '../../src/rules/workflow-ids.ts';
import { Database } from '../../src/sqlite.ts';
import { waitForResult } from '../../src/temporal/runs.ts';
import { DocferryProcess } from '../../test/tools/docferry-process.ts';
import type { PeerEnvironment } from './peer-environment.ts';
import { SandboxControl } from './sandbox-control.ts';

interface StageOptions {
  requests: number;
  windowMs: number;
  arrivalMs: number;
  /** Entries of each project. */
  entries: number;
  projects: readonly string[];
  workers: number;
  /** Further flags of `docferry sandbox`. */
  sandboxFlags: readonly string[];
  /** `store.feedback`; by default a SQLite file in the stage's folder. */
  feedback?: string;
}

/** Of 127.0.0.1. */
interface Ports {
  temporal: number;
  ui: number;
  sandbox: number;
  storage: number;
}

const org = 'acme';
const apiKey = 'dk_admin_bench_planted_key';
const longestPassMs = 3_600_000;
const startedSchema = z.object({ workflowId: z.string() });

/**
 * A Temporal dev server, the sandbox and docferry's workers, each a process of its own on free loopback ports, in a
 * temporary folder. `stop` ends every one of them by its pid and removes the folder.
 */
export class Stage {
  readonly options: StageOptions;
  readonly serviceUrl: string;
  readonly apiKey = apiKey;
  readonly sandbox: SandboxControl;
  readonly client: Client;
  readonly workers: DocferryProcess[] = [];
  readonly #folder: string;
  readonly #ports: Ports;
  readonly #connection: Connection;
  readonly #others: DocferryProcess[] = [];
  #server: DevServer;
  /** The server that is being started again. */
  #starting: Promise<DevServer> | undefined;
  #stopped: Promise<void> | undefined;

  private constructor(options: StageOptions, folder: string, ports: Ports, server: DevServer, connection: Connection) {
    this.options = options;
    this.#folder = folder;
    this.#ports = ports;
    this.#server = server;
    this.#connection = connection;
    this.client = new Client({ connection });
    this.serviceUrl = `http://127.0.0.1:${ports.sandbox}`;
    this.sandbox = new SandboxControl(this.serviceUrl);
  }

  /** Starts everything but the workers. */
  static async open(options: StageOptions): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-bench-'));
    await mkdir(join(folder, 'data'));
    const ports = {
      temporal: await findFreePort(),
      ui: await findFreePort(),
      sandbox: await findFreePort(),
      storage: await findFreePort(),
    };
    let server: DevServer | undefined;
    try {
      server = await startServer(folder, ports);
      const connection = await Connection.connect({ address: server.address });
      const stage = new Stage(options, folder, ports, server, connection);
      await stage.#startSandbox().catch(async (error: unknown) => {
        await stage.stop();
        throw error;
      });
      return stage;
    } catch (error) {
      await server?.stop();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  async startWorkers(): Promise<void> {
    const { requests, windowMs, arrivalMs, projects, workers, feedback } = this.options;
    await writeFile(
      join(this.#folder, 'docferry.yaml'),
      `temporal: { address: "127.0.0.1:${this.#ports.temporal}" }
service: { baseUrl: "${this.serviceUrl}", allowInsecure: true }
organizations:
  - id: ${org}
    apiKey: "${apiKey}"
    budget: { requests: ${requests}, window: ${windowMs}ms, arrival: ${arrivalMs}ms }
    projects: [${projects.map((id) => `{ id: ${id} }`).join(', ')}]
${feedback === undefined ? '' : `store: { feedback: "${feedback}" }\n`}`,
    );
    for (let number = 0; number < workers; number++) this.workers.push(this.#launch(['worker']));
    await Promise.all(this.workers.map((worker) => worker.says('worker: ready')));
  }

  /** Kills one worker with -9 and starts another in its place; does not wait until that one is ready. */
  async replaceWorker(number: number): Promise<void> {
    const worker = this.workers[number];
    if (!worker) throw new Error(`there is no worker ${number}`);
    await worker.kill('SIGKILL');
    this.workers[number] = this.#launch(['worker']);
  }

  /** The worker that runs an activity of this workflow now, or null. */
  async workerOf(workflowId: string): Promise<number | null> {
    const { raw } = await this.client.workflow.getHandle(workflowId).describe();
    const identity = raw.pendingActivities?.[0]?.lastWorkerIdentity;
    const number = this.workers.findIndex(({ child }) => identity?.startsWith(`${child.pid}@`) ?? false);
    return number < 0 ? null : number;
  }

  /** Starts a pass by the command line and gives its workflow's id. */
  async startPass(project: string, pass: PassKind): Promise<string> {
    const command = this.#launch(['feedback', 'sync', project, '--pass', pass, '--json']);
    if ((await command.ended()) !== 0) throw new Error(`the ${pass} did not start:\n${command.output}`);
    return startedSchema.parse(JSON.parse(command.stdout)).workflowId;
  }

  /**
   * Runs another program (path relative to the checkout) to its end, which knows where things are by its environment;
   * gives what it printed.
   */
  async runPeer(program: string, args: readonly string[], project: string): Promise<string> {
    const { requests, windowMs } = this.options;
    const env: PeerEnvironment = {
      PEER_SERVICE: this.serviceUrl,
      PEER_KEY: apiKey,
      PEER_PROJECT: project,
      PEER_REQUESTS: `${requests}`,
      PEER_WINDOW_MS: `${windowMs}`,
      PEER_TEMPORAL: `127.0.0.1:${this.#ports.temporal}`,
    };
    const peer = this.#launch(args, { env: { ...env }, program: resolve(program) });
    if ((await peer.ended()) !== 0) throw new Error(`${program} failed:\n${peer.output}`);
    return peer.stdout;
  }

  /** Waits for a pass's result, through outages of Temporal. */
  async resultOf(workflowId: string): Promise<SyncResult> {
    const handle = this.client.workflow.getHandle<() => Promise<SyncResult>>(workflowId);
    return waitForResult(this.client, handle, { timeoutMs: longestPassMs });
  }

  /** kill -9, and the same server again on the same database and ports. */
  async restartServer(): Promise<void> {
    process.kill(this.#server.pid, 'SIGKILL');
    await this.#server.exited;
    await this.#server.stop();
    this.#starting = startServer(this.#folder, this.#ports);
    this.#server = await this.#starting;
  }

  /** Entries of a project that are missing in the store, or there without being the service's, or there twice. */
  async lostAndDoubled(project: string): Promise<{ lost: number; doubled: number }> {
    const truth = new Set<string>();
    for await (const { id } of this.sandbox.truthOf(project)) truth.add(id);
    const db = new Database(this.feedbackFile, { readOnly: true });
    const select = db.prepare<{ id: string }>('select id from feedback where project_id = ?');
    const stored = new Set<string>();
    let doubled = 0;
    for (const { id } of select.iterate(project)) {
      if (stored.has(id) || !truth.has(id)) doubled += 1;
      stored.add(id);
    }
    db.close();
    return { lost: [...truth].filter((id) => !stored.has(id)).length, doubled };
  }

  /** Histories of every run of a workflow. */
  async historiesOf(workflowId: string): Promise<temporal.api.history.v1.IHistory[]> {
    const histories: temporal.api.history.v1.IHistory[] = [];
    for await (const { runId } of this.client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
      histories.push(await this.client.workflow.getHandle(workflowId, runId).fetchHistory());
    }
    return histories;
  }

  /** Where entries are unless `feedback` says otherwise. */
  get feedbackFile(): string {
    return join(this.#folder, 'data/feedback.db');
  }

  get budgetId(): string {
    return budgetWorkflowId(org);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async #end(): Promise<void> {
    await this.#connection.close().catch(() => {});
    await Promise.all([...this.workers, ...this.#others].map((process) => process.kill('SIGKILL')));
    await this.#server.stop();
    await this.#starting?.then((server) => server.stop()).catch(() => {});
    // A killed program may still be letting go of its files.
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  #launch(args: readonly string[], more: { env?: NodeJS.ProcessEnv; program?: string } = {}): DocferryProcess {
    if (this.#stopped) throw new Error('the stage is being taken down');
    const started = new DocferryProcess(args, { cwd: this.#folder, ...more });
    this.#others.push(started);
    return started;
  }

  async #startSandbox(): Promise<void> {
    const { requests, windowMs, entries, projects, sandboxFlags } = this.options;
    const sandbox = this.#launch([
      'sandbox',
      ...['--port', `${this.#ports.sandbox}`, '--storage-port', `${this.#ports.storage}`, '--api-key', apiKey],
      ...['--requests', `${requests}`, '--window', `${windowMs}ms`],
      ...['--projects', projects.join(','), '--entries', `${entries}`],
      ...sandboxFlags,
    ]);
    await sandbox.says('sandbox: ready');
  }
}

async function startServer(folder: string, ports: Ports): Promise<DevServer> {
  const binary = await resolveBinary(devServerTool);
  const settings = {
    binary: binary.path,
    port: ports.temporal,
    dbFile: join(folder, 'data/temporal.db'),
    logFile: join(folder, 'data/temporal.log'),
    searchAttributes: Object.values(searchAttributes),
  };
  // Another program may have taken the port in the moment between two servers; it is asked for once more.
  return startDevServer(settings).catch(async () => {
    await sleep(500);
    return startDevServer(settings);
  });
}
