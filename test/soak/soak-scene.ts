import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { devServerTool, resolveBinary } from '../../src/local/binaries.ts';
import { type DevServer, startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { searchAttributes } from '../../src/rules/workflow-ids.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';
import { postgresBinaries } from '../tools/servers/postgres-binaries.ts';
import { createDatabase, type PostgresDatabase } from '../tools/servers/postgres-database.ts';
import { type PostgresServer, startPostgres } from '../tools/servers/postgres-server.ts';
import { startReceiver, type WebhookReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';
import { SmallDisk } from './small-disk.ts';
import { type ChangingSettings, organizations, serviceBudget, soakConfig, unreadable } from './soak-config.ts';
import { WorkerFleet } from './worker-fleet.ts';

interface LimitInForce {
  org: string;
  requests: number;
  from: number;
  until: number;
}

/** The task queue of a configuration that names none. */
export const taskQueue = 'docferry';

/**
 * A service, Temporal with its database in a file, PostgreSQL, a small disk, a receiver of webhooks, and the workers of two
 * machines: all of it but the service and the receiver can be killed.
 */
export class SoakScene {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly receiver: WebhookReceiver;
  readonly postgres: PostgresServer;
  readonly database: PostgresDatabase;
  readonly disk: SmallDisk;
  readonly client: Client;
  readonly fleet: WorkerFleet;
  readonly settings: ChangingSettings = {
    requests: Object.fromEntries(organizations.map(({ id }) => [id, serviceBudget.requests])),
    failover: 'fast',
    without: null,
  };
  /** Which limits the budgets were seen to have, and when. */
  readonly limits: LimitInForce[] = organizations.map(({ id: org }) => ({
    org,
    requests: serviceBudget.requests,
    from: Date.now(),
    until: Number.POSITIVE_INFINITY,
  }));
  readonly #temporal: Temporal;
  readonly #commands: DocferryProcess[] = [];
  readonly #onEnd: (() => unknown)[];

  private constructor(parts: Parts) {
    this.folder = parts.folder;
    this.sandbox = parts.sandbox;
    this.receiver = parts.receiver;
    this.postgres = parts.postgres;
    this.database = parts.database;
    this.disk = parts.disk;
    this.client = parts.client;
    this.#temporal = parts.temporal;
    this.#onEnd = parts.onEnd;
    this.fleet = new WorkerFleet(parts.folder, parts.client);
  }

  /** Starts everything, with workers of a first build. Throws where PostgreSQL is not installed. */
  static async begin(seed: number): Promise<SoakScene> {
    const binaries = postgresBinaries();
    if (binaries === null) throw new Error('PostgreSQL is not installed (apt-get install postgresql)');
    const folder = await mkdtemp(join(tmpdir(), 'docferry-soak-'));
    const onEnd: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const disk = await SmallDisk.make(join(folder, 'disk'));
      onEnd.unshift(() => disk.end());
      const postgres = await startPostgres(binaries, { ssl: false });
      onEnd.unshift(() => postgres.stop());
      const database = await createDatabase(postgres.address);
      const temporal = await temporalIn(folder);
      onEnd.unshift(() => temporal.server.stop());
      const sandbox = await startSandbox({
        ...serviceBudget,
        seed,
        jobSeconds: 4,
        pages: 5,
        padBytes: 200_000,
        openShare: 0.2,
        organizations,
      });
      onEnd.unshift(() => sandbox.stop());
      for (const { projects } of organizations) {
        const [last] = projects.slice(-1);
        for (const raw of unreadable) sandbox.addEntries(last?.id ?? '', { raw });
      }
      const receiver = await startReceiver();
      onEnd.unshift(() => receiver.stop());
      // Connects when it is first used, and again whenever the server was away.
      const connection = Connection.lazy({ address: temporal.server.address });
      onEnd.unshift(() => connection.close());
      const client = new Client({ connection });
      const parts = { folder, disk, postgres, database, temporal, sandbox, receiver, client, onEnd };
      const scene = new SoakScene(parts);
      await scene.configure();
      await scene.docferry(['setup']);
      await scene.fleet.nextBuild();
      onEnd.unshift(() => scene.fleet.stop());
      await scene.docferry(['schedules', 'apply']);
      return scene;
    } catch (error) {
      for (const end of onEnd) await Promise.resolve(end()).catch(() => {});
      throw error;
    }
  }

  /** Writes the configuration as it is to be now. */
  async configure(): Promise<void> {
    const text = soakConfig(
      {
        temporalAddress: this.#temporal.server.address,
        serviceUrl: this.sandbox.url,
        feedback: this.database.url,
        disk: this.disk.path,
        webhook: { url: this.receiver.url, secret: webhookSecret },
      },
      this.settings,
    );
    await writeFile(join(this.folder, 'docferry.yaml'), text);
  }

  /** Runs a command; its JSON document. Throws what it said when it fails. */
  async docferry(args: readonly string[]): Promise<unknown> {
    const command = new DocferryProcess([...args, '--json'], { cwd: this.folder });
    this.#commands.push(command);
    const code = await command.ended();
    if (code !== 0) throw new Error(`docferry ${args.join(' ')} ended with ${code}:\n${command.output}`);
    return JSON.parse(command.stdout);
  }

  async killTemporal(): Promise<void> {
    const { server } = this.#temporal;
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    await server.stop();
  }

  /** With what its file holds. */
  async startTemporal(): Promise<void> {
    this.#temporal.server = await this.#temporal.start();
  }

  get temporalLog(): string {
    return this.#temporal.logFile;
  }

  /** What all processes of docferry have said. */
  said(): string[] {
    return [...this.fleet.said(), ...this.#commands.map(({ output }) => output)];
  }

  async end(): Promise<void> {
    for (const end of this.#onEnd) await end();
  }
}

interface Parts
  extends Pick<SoakScene, 'folder' | 'sandbox' | 'receiver' | 'postgres' | 'database' | 'disk' | 'client'> {
  temporal: Temporal;
  onEnd: (() => unknown)[];
}

interface Temporal {
  start: () => Promise<DevServer>;
  server: DevServer;
  logFile: string;
}

/** A server that keeps all it knows in a file of the folder. */
async function temporalIn(folder: string): Promise<Temporal> {
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  const options = {
    binary: (await resolveBinary(devServerTool, { onProgress })).path,
    port: await findFreePort(),
    searchAttributes: Object.values(searchAttributes),
    dbFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
  };
  const start = () => startDevServer(options);
  const temporal: Temporal = { start, server: await start(), logFile: options.logFile };
  // Should the run be cut short, the server must not stay.
  process.once('exit', () => {
    try {
      process.kill(temporal.server.pid, 'SIGKILL');
    } catch {
      // Gone already.
    }
  });
  return temporal;
}
