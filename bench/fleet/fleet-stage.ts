import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { SandboxOptions } from '../../sandbox/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { devServerTool, resolveBinary } from '../../src/local/binaries.ts';
import { type DevServer, startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { searchAttributes } from '../../src/rules/workflow-ids.ts';
import type { TemporalSettings } from '../../src/temporal/connection.ts';
import { DocferryProcess } from '../../test/tools/docferry-process.ts';
import { memoryOf } from '../tools/process-memory.ts';
import { processorSecondsOf } from '../tools/process-time.ts';
import { apiKeyOf, type FleetSize, fleetOrganizations } from './fleet-size.ts';

export type Program = 'docferry' | 'bare';

interface FleetStageOptions extends FleetSize {
  program: Program;
  workers: number;
}

/** Processor seconds since the start, and the most memory of a worker in bytes. */
export interface Usage {
  workers: number;
  temporal: number;
  service: number;
  peak: number;
}

/** A fresh dev server as `up` starts it, the sandbox and workers, each a process of its own, in a temporary folder. */
export class FleetStage {
  readonly client: Client;
  readonly taskQueue: string;
  readonly serviceUrl: string;
  readonly #folder: string;
  readonly #server: DevServer;
  readonly #sandbox: DocferryProcess;
  readonly #workers: DocferryProcess[] = [];

  private constructor(
    folder: string,
    server: DevServer,
    sandbox: DocferryProcess,
    temporal: { client: Client; taskQueue: string },
  ) {
    this.#folder = folder;
    this.#server = server;
    this.#sandbox = sandbox;
    this.client = temporal.client;
    this.taskQueue = temporal.taskQueue;
    this.serviceUrl = urlIn(sandbox);
  }

  static async open(options: FleetStageOptions): Promise<FleetStage> {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-bench-'));
    await mkdir(join(folder, 'data'));
    const server = await startServer(folder);
    const sandbox = await startService(folder, options);
    await writeFile(join(folder, 'docferry.yaml'), configuration(options, server.address, urlIn(sandbox)));
    const file = join(folder, 'docferry.yaml');
    const { temporal } = loadConfig({ file, env: {}, cwd: folder, secrets: 'required' });
    // Without the command line's limits of time: a thousand starts at once wait for their turn.
    const client = new Client({ connection: await Connection.connect({ address: temporal.address }) });
    const taskQueue = options.program === 'bare' ? 'bare' : temporal.taskQueue;
    const stage = new FleetStage(folder, server, sandbox, { client, taskQueue });
    await stage.#startWorkers(options, temporal);
    return stage;
  }

  async #startWorkers({ program, workers }: FleetStageOptions, { address }: TemporalSettings): Promise<void> {
    const bare = fileURLToPath(new URL('./fleet-bare-worker.js', import.meta.url));
    for (let number = 0; number < workers; number++) {
      const worker =
        program === 'docferry'
          ? new DocferryProcess(['worker'], { cwd: this.#folder })
          : new DocferryProcess([address, this.serviceUrl], { cwd: this.#folder, program: bare });
      this.#workers.push(worker);
    }
    await Promise.all(this.#workers.map((worker) => worker.says('worker: ready')));
  }

  async usage(): Promise<Usage> {
    const pids = this.#workers.map(({ child }) => child.pid ?? 0);
    const seconds = await Promise.all(pids.map(processorSecondsOf));
    const memory = await Promise.all(pids.map(memoryOf));
    return {
      workers: seconds.reduce((sum, each) => sum + each, 0),
      temporal: await processorSecondsOf(this.#server.pid),
      service: await processorSecondsOf(this.#sandbox.child.pid ?? 0),
      peak: Math.max(...memory.map(({ peak }) => peak)),
    };
  }

  /** What the workers have said, to explain a failure. */
  said(): string {
    return this.#workers.map(({ output }) => output).join('\n');
  }

  async stop(): Promise<void> {
    await this.client.connection.close();
    await Promise.all([...this.#workers, this.#sandbox].map((process) => process.kill('SIGTERM')));
    await this.#server.stop();
    // A killed program may still be letting go of its files.
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

async function startServer(folder: string): Promise<DevServer> {
  return startDevServer({
    binary: (await resolveBinary(devServerTool)).path,
    port: await findFreePort(),
    dbFile: join(folder, 'data/temporal.db'),
    logFile: join(folder, 'data/temporal.log'),
    searchAttributes: Object.values(searchAttributes),
  });
}

async function startService(folder: string, size: FleetSize): Promise<DocferryProcess> {
  const { entries, jobSeconds } = size;
  const options: SandboxOptions = {
    entries,
    jobSeconds,
    pages: 3,
    requests: 1_000_000,
    organizations: fleetOrganizations(size).map(({ id, projects, domains }) => ({
      id,
      apiKey: apiKeyOf(id),
      projects: projects.map((project) => ({ id: project })),
      domains,
    })),
  };
  const file = join(folder, 'sandbox.json');
  await writeFile(file, JSON.stringify(options));
  const program = fileURLToPath(new URL('./fleet-sandbox.js', import.meta.url));
  const sandbox = new DocferryProcess([file], { cwd: folder, program });
  await sandbox.says('sandbox: ');
  return sandbox;
}

function urlIn({ stdout }: DocferryProcess): string {
  const [, url = ''] = /^sandbox: (\S+)$/m.exec(stdout) ?? [];
  return url;
}

/** JSON is YAML. */
function configuration(size: FleetSize, address: string, serviceUrl: string): string {
  return JSON.stringify({
    temporal: { address, failover: size.failover },
    service: { baseUrl: serviceUrl, allowInsecure: true, linkHosts: ['127.0.0.1'] },
    organizations: fleetOrganizations(size).map(({ id, projects, domains }) => ({
      id,
      apiKey: apiKeyOf(id),
      budget: { requests: 10_000, window: '1h' },
      projects: projects.map((project) => ({ id: project })),
      sites: domains.map((domain) => ({ domain, rollout: [{ directory: { path: `./released/${domain}` } }] })),
    })),
  });
}
