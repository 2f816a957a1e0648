import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { stringify } from 'yaml';
import { launchServer, type ServerProcess } from '../../../src/local/dev-server.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import type { PostgresServerAddress } from './postgres-server.ts';
import { schemaFolder } from './temporal-cluster-tool.ts';

/** Temporal's own server with all its services in one process and PostgreSQL as its database. */
export interface TemporalCluster {
  address: string;
  /** What the server has said. */
  log(): Promise<string>;
  /** Kills it with -9. */
  kill(): Promise<void>;
  /** Starts it again; resolves when it answers. */
  start(): Promise<void>;
}

interface ServicePorts {
  grpc: number;
  membership: number;
}
type Service = 'frontend' | 'history' | 'matching' | 'worker';

const schemaLimitMs = 120_000;
const readyLimitMs = 120_000;
const databases = { temporal: 'temporal', visibility: 'temporal_visibility' } as const;

/** Makes the databases and starts the server that `temporalClusterTool` found, in `folder`. */
export async function startTemporalCluster(
  program: string,
  postgres: PostgresServerAddress,
  folder: string,
): Promise<TemporalCluster> {
  await makeTables(program, postgres);
  const ports = {
    frontend: await freePorts(),
    history: await freePorts(),
    matching: await freePorts(),
    worker: await freePorts(),
  };
  await mkdir(join(folder, 'config'), { recursive: true });
  const dynamic = resolve('deploy/compose/temporal-dynamic.yaml');
  await writeFile(join(folder, 'config/cluster.yaml'), stringify(configuration(postgres, ports, dynamic)));
  const address = `127.0.0.1:${ports.frontend.grpc}`;
  const logFile = join(folder, 'temporal.log');
  const args = ['--root', folder, '--config', 'config', '--env', 'cluster', '--allow-no-auth', 'start'];
  let server: ServerProcess | null = null;
  const kill = async () => {
    if (server === null) return;
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    server = null;
  };
  // Should the run be cut short, the server must not stay.
  process.once('exit', () => server && process.kill(server.pid, 'SIGKILL'));
  const cluster: TemporalCluster = {
    address,
    kill,
    log: () => readFile(logFile, 'utf8'),
    async start() {
      const started = await launchServer(program, args, logFile);
      server = started;
      let ended = false;
      void started.exited.then(() => {
        ended = true;
        if (server === started) server = null;
      });
      await untilReady(address, () => ended, logFile);
    },
  };
  await cluster.start();
  return cluster;
}

/** As docker-compose.yml makes them; twice, since it does so at each start. */
async function makeTables(program: string, { host, port, user, password }: PostgresServerAddress): Promise<void> {
  const folder = dirname(program);
  const database = { SQL_HOST: host, SQL_PORT: `${port}`, SQL_USER: user, SQL_PASSWORD: password };
  const env = { PATH: `${folder}:${process.env.PATH}`, SQL_PLUGIN: 'postgres12', ...database };
  const tables = ['deploy/compose/temporal-tables.sh', join(folder, schemaFolder)];
  for (const _ of ['new', 'there']) await promisify(execFile)('sh', tables, { env, timeout: schemaLimitMs });
}

async function freePorts(): Promise<ServicePorts> {
  return { grpc: await findFreePort(), membership: await findFreePort() };
}

/** The server's own example for development on PostgreSQL, with these ports and without archives and metrics. */
function configuration(postgres: PostgresServerAddress, ports: Record<Service, ServicePorts>, dynamic: string): object {
  const store = (databaseName: string, most: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${postgres.host}:${postgres.port}`,
      connectProtocol: 'tcp',
      user: postgres.user,
      password: postgres.password,
      maxConns: most,
      maxIdleConns: most,
      maxConnLifetime: '1h',
    },
  });
  const service = ({ grpc, membership }: ServicePorts) => ({
    rpc: { grpcPort: grpc, membershipPort: membership, bindOnLocalHost: true },
  });
  const frontend = `127.0.0.1:${ports.frontend.grpc}`;
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: store(databases.temporal, 12), visibility: store(databases.visibility, 4) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: Object.fromEntries(Object.entries(ports).map(([name, numbers]) => [name, service(numbers)])),
    publicClient: { hostPort: frontend },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: frontend },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: dynamic, pollInterval: '60s' },
  };
}

async function untilReady(address: string, ended: () => boolean, logFile: string): Promise<void> {
  const giveUpAt = Date.now() + readyLimitMs;
  for (;;) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 });
      try {
        // Answered by the database, not by the frontend alone.
        await connection.withDeadline(Date.now() + 5_000, () => connection.workflowService.listNamespaces({}));
        return;
      } finally {
        await connection.close();
      }
    } catch (error) {
      if (!ended() && Date.now() < giveUpAt) {
        await sleep(200);
        continue;
      }
      const said = await readFile(logFile, 'utf8');
      throw new Error(`the Temporal server does not answer:\n${said.slice(-2_000)}`, { cause: error });
    }
  }
}
