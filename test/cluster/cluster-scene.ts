import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import type { Failover } from '../../src/temporal/rules/failover.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';
import { createDatabase, type PostgresDatabase } from '../tools/servers/postgres-database.ts';
import { type PostgresServer, startPostgres } from '../tools/servers/postgres-server.ts';
import { type S3Server, startS3Server } from '../tools/servers/s3-server.ts';
import { startTemporalCluster, type TemporalCluster } from '../tools/servers/temporal-cluster.ts';

/** Programs of this machine that the scene starts. */
export interface ClusterPrograms {
  temporalServer: string;
  postgres: string;
  s3: string;
}

interface SceneOrganization {
  id: string;
  projects: string[];
  domains: string[];
}

/** The budget of each organization, in force at the service too. */
export const budget = { requests: 40, windowMs: 20_000 };
/** For servers that other machines reach, whose answers may take their time. */
export const failover: Failover = 'tolerant';
export const storePrefix = 'cluster';
const apiKeyOf = (org: string) => `dk_admin_sandbox_${org}_planted_key`;

/** A hundred sites and thirty projects in three organizations. */
export const organizations: SceneOrganization[] = ['acme', 'globex', 'initech'].map((id, place) => ({
  id,
  projects: Array.from({ length: 10 }, (_, number) => `prj_${id}_${number + 1}`),
  domains: Array.from({ length: place === 0 ? 34 : 33 }, (_, number) => `docs${number + 1}.${id}.example`),
}));

/**
 * What a company would run: Temporal's own server, PostgreSQL for it and for the feedback, a bucket, and two machines
 * with a worker each. All of it are processes that can be killed; the service is the sandbox in this one.
 */
export class ClusterScene {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly postgres: PostgresServer;
  readonly database: PostgresDatabase;
  readonly s3: S3Server;
  readonly temporal: TemporalCluster;
  readonly client: Client;
  readonly taskQueue: string;
  readonly #machines: readonly string[];
  readonly #workers: DocferryProcess[] = [];
  readonly #all: DocferryProcess[] = [];
  readonly #onEnd: (() => Promise<unknown>)[];

  private constructor(parts: {
    folder: string;
    sandbox: Sandbox;
    postgres: PostgresServer;
    database: PostgresDatabase;
    s3: S3Server;
    temporal: TemporalCluster;
    client: Client;
    taskQueue: string;
    machines: readonly string[];
    onEnd: (() => Promise<unknown>)[];
  }) {
    this.folder = parts.folder;
    this.sandbox = parts.sandbox;
    this.postgres = parts.postgres;
    this.database = parts.database;
    this.s3 = parts.s3;
    this.temporal = parts.temporal;
    this.client = parts.client;
    this.taskQueue = parts.taskQueue;
    this.#machines = parts.machines;
    this.#onEnd = parts.onEnd;
  }

  /** Starts everything but the workers. */
  static async begin(programs: ClusterPrograms): Promise<ClusterScene> {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-cluster-'));
    const onEnd: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const postgres = await startPostgres(programs.postgres, { ssl: false, connections: 150 });
      onEnd.unshift(() => postgres.stop());
      const database = await createDatabase(postgres.address);
      const s3 = await startS3Server(programs.s3);
      onEnd.unshift(() => s3.stop());
      const temporal = await startTemporalCluster(programs.temporalServer, postgres.address, join(folder, 'temporal'));
      onEnd.unshift(() => temporal.kill());
      const sandbox = await startSandbox({
        ...budget,
        jobSeconds: 20,
        pages: 5,
        entries: 1_200,
        rejects: 0.01,
        organizations: organizations.map(({ id, projects, domains }) => ({
          id,
          projects: projects.map((project) => ({ id: project })),
          domains,
        })),
      });
      onEnd.unshift(() => sandbox.stop());
      const text = configuration({ folder, sandbox, database, s3, temporal });
      const machines = ['machine-1', 'machine-2'].map((name) => join(folder, name));
      for (const machine of machines) {
        await mkdir(machine);
        await writeFile(join(machine, 'docferry.yaml'), text);
      }
      const [machine = folder] = machines;
      const file = join(machine, 'docferry.yaml');
      const { temporal: settings } = loadConfig({ file, env: {}, cwd: machine, secrets: 'required' });
      const client = await connectClient(settings);
      onEnd.unshift(() => client.connection.close());
      const parts = { folder, sandbox, postgres, database, s3, temporal, client, machines, onEnd };
      const scene = new ClusterScene({ ...parts, taskQueue: settings.taskQueue });
      await scene.docferry(['setup', '--create-namespace']);
      return scene;
    } catch (error) {
      for (const end of onEnd) await end().catch(() => {});
      throw error;
    }
  }

  get apiKeys(): string[] {
    return organizations.map(({ id }) => apiKeyOf(id));
  }

  /** Sites of the first organization are unpacked here too. */
  releaseFolder(domain: string): string {
    return join(this.folder, 'released', domain);
  }

  /** Runs a command on the first machine; its JSON document. Throws what it said when it fails. */
  async docferry(args: readonly string[]): Promise<unknown> {
    const command = this.#start(0, [...args, '--json']);
    const code = await command.ended();
    if (code !== 0) throw new Error(`docferry ${args.join(' ')} ended with ${code}:\n${command.output}`);
    return JSON.parse(command.stdout);
  }

  async startWorker(machine: 0 | 1): Promise<void> {
    const worker = this.#start(machine, ['worker']);
    this.#workers[machine] = worker;
    await worker.says('worker: ready');
  }

  async killWorker(machine: 0 | 1): Promise<void> {
    await this.#workers[machine]?.kill('SIGKILL');
  }

  /** What all processes of docferry have said. */
  said(): string {
    return this.#all.map(({ output }) => output).join('\n');
  }

  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill('SIGTERM')));
    for (const end of this.#onEnd) await end();
  }

  #start(machine: 0 | 1, args: readonly string[]): DocferryProcess {
    const started = new DocferryProcess(args, { cwd: this.#machines[machine] ?? this.folder });
    this.#all.push(started);
    return started;
  }
}

function configuration(parts: {
  folder: string;
  sandbox: Sandbox;
  database: PostgresDatabase;
  s3: S3Server;
  temporal: TemporalCluster;
}): string {
  const { folder, sandbox, database, s3, temporal } = parts;
  const listed = organizations.map(
    ({ id, projects, domains }, place) => `  - id: ${id}
    apiKey: ${apiKeyOf(id)}
    budget: { requests: ${budget.requests}, window: ${budget.windowMs}ms, arrival: 2s }
    projects:
${projects.map((project) => `      - { id: ${project} }`).join('\n')}
    sites:
${domains.map((domain) => `      - ${siteLine(domain, place === 0 ? join(folder, 'released', domain) : null)}`).join('\n')}`,
  );
  return `temporal: { address: "${temporal.address}", namespace: docferry, failover: ${failover} }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
${listed.join('\n')}
store:
  feedback: "${database.url}"
  bundles: { s3: { bucket: ${s3.bucket}, prefix: ${storePrefix}, endpoint: "${s3.endpoint}", region: us-east-1 } }
`;
}

function siteLine(domain: string, folder: string | null): string {
  return folder === null
    ? `{ domain: ${domain} }`
    : `{ domain: ${domain}, rollout: [{ directory: { path: "${folder}" } }] }`;
}
