import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findFreePort } from '../../../src/local/ports.ts';
import { ordinaryUser } from './postgres-binaries.ts';

const run = promisify(execFile);

/** How to reach a server; plain data, so that it can be handed to other processes. */
export interface PostgresServerAddress {
  host: '127.0.0.1';
  port: number;
  /** The superuser. */
  user: string;
  password: string;
  /** The certificate that the server shows, for `localhost` and 127.0.0.1; null where none could be made. */
  certificate: string | null;
}

export interface PostgresServer {
  address: PostgresServerAddress;
  pid(): number;
  /** As after a crash: every connection is cut at once, and what was not committed is gone. */
  crash(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A real server of its own on a free port, run as an ordinary user, with passwords asked for and TLS offered. */
export async function startPostgres(binaries: string, { ssl = true, connections = 60 } = {}): Promise<PostgresServer> {
  const user = ordinaryUser();
  const folder = await mkdtemp(join(tmpdir(), 'docferry-pg-'));
  const own = async (path: string): Promise<string> => {
    if (user) await chown(path, user.uid, user.gid);
    return path;
  };
  await own(folder);
  const data = join(folder, 'data');
  const password = 'planted-superuser-password';
  const passwordFile = await own(await written(join(folder, 'password'), password));
  const asUser = { cwd: folder, ...user };
  const initdb = ['-D', data, '-U', 'root', '-A', 'scram-sha-256', '--pwfile', passwordFile, '--no-sync'];
  await run(join(binaries, 'initdb'), [...initdb, '-E', 'UTF8', '--locale', 'C'], asUser);
  const certificate = ssl ? await makeCertificate(folder, own) : null;
  const port = await findFreePort();
  const address: PostgresServerAddress = { host: '127.0.0.1', port, user: 'root', password, certificate };
  const sockets = join(folder, 'sockets');
  await mkdir(sockets);
  await own(sockets);

  let child: ChildProcess | null = null;
  const settings: Record<string, string> = {
    port: `${port}`,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: sockets,
    fsync: 'off',
    max_connections: `${connections}`,
    ...(certificate === null
      ? {}
      : { ssl: 'on', ssl_cert_file: certificate, ssl_key_file: join(folder, 'server.key') }),
  };
  const start = async (): Promise<void> => {
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const started = spawn(join(binaries, 'postgres'), ['-D', data, ...args], { ...asUser, stdio: 'ignore' });
    child = started;
    for (;;) {
      if (started.exitCode !== null) throw new Error(`postgres ended with ${started.exitCode}: ${binaries}`);
      const client = new Client({ ...address, database: 'postgres' });
      try {
        await client.connect();
        await client.end();
        return;
      } catch {
        await sleep(50);
      }
    }
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    child = null;
  };
  await start();
  return {
    address,
    start,
    pid: () => child?.pid ?? 0,
    // "Immediate shutdown": no checkpoint, recovery at the next start.
    crash: () => end('SIGQUIT'),
    async stop() {
      await end('SIGQUIT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function makeCertificate(folder: string, own: (path: string) => Promise<string>): Promise<string | null> {
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  try {
    await run('openssl', [...args, '-subj', '/CN=localhost', '-addext', names, '-keyout', key, '-out', certificate]);
  } catch {
    return null;
  }
  await chmod(key, 0o600);
  await own(key);
  await own(certificate);
  await chmod(folder, 0o755);
  return certificate;
}

async function written(path: string, text: string): Promise<string> {
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
